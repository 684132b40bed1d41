/** The built gateway, with routes to the scripted hosts for the names that users type. */
import { ANTHROPIC_KEY } from "../../test/hosts/anthropic/index.ts";
import { ENGINE_MODEL } from "../../test/hosts/engine.ts";
import { GOOGLE_KEY } from "../../test/hosts/google/index.ts";
import { OPENAI_KEY } from "../../test/hosts/openai/index.ts";

export const ACCOUNT = "clients";

/** The gateway does not retry, so that the client's own retries are tested. */
const route = (backend: string, model?: string) => ({
	targets: [{ backend, ...(model !== undefined && { model }) }],
	retries: { attempts: 1 },
});

/** Models of the product and of other providers, which this gateway's own engine serves. */
const ENGINE_NAMES = [
	"@cf/meta/llama-3.3-70b-instruct-fp8-fast",
	"@cf/meta/llama-4-scout-17b-16e-instruct",
	"@cf/moonshotai/kimi-k2.6",
	"accounts/fireworks/models/kimi-k2p6",
	"command-a-03-2025",
	"deepseek-chat",
	"gpt-oss-120b",
	"grok-4.6",
	"kimi-k2.6",
	"mistral-medium-latest",
	"llama-3.3-70b-versatile",
	"meta-llama/Llama-3.3-70B-Instruct-Turbo",
	"qwen3.7-max",
	"sonar-pro",
	"v0-1.5-md",
	"zai-org/GLM-4.7",
];

/** All outgoing requests go to the scripted hosts, so the addresses are those of the real ones. */
export const SETTINGS: Record<string, unknown> = {
	PROVIDER_KEYS: { openai: "OPENAI_API_KEY", anthropic: "ANTHROPIC_API_KEY", google: "GEMINI_API_KEY" },
	BACKENDS: { engine: { kind: "openai", url: "http://engine.example.com/v1" } },
	ROUTES: {
		"gpt-*": route("openai"),
		"claude-*": route("anthropic"),
		"gemini-*": route("google"),
		...Object.fromEntries(ENGINE_NAMES.map((name) => [name, route("engine", ENGINE_MODEL)])),
	},
	WEB_SEARCH: { "in-house": { kind: "searxng", url: "http://searx.example.com" } },
	LIMITS: { requests_per_minute: "none" },
	OPENAI_API_KEY: OPENAI_KEY,
	ANTHROPIC_API_KEY: ANTHROPIC_KEY,
	GEMINI_API_KEY: GOOGLE_KEY,
};
