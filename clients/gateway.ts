/** The built gateway, with routes to the scripted hosts for the names that users type. */
import { ANTHROPIC_KEY } from "../test/hosts/anthropic/index.ts";
import { ENGINE_MODEL } from "../test/hosts/engine.ts";
import { GOOGLE_KEY } from "../test/hosts/google/index.ts";
import { OPENAI_KEY } from "../test/hosts/openai/index.ts";

export const ACCOUNT = "clients";

/** The gateway does not retry, so that the client's own retries are tested. */
const route = (backend: string, model?: string) => ({
	targets: [{ backend, ...(model !== undefined && { model }) }],
	retries: { attempts: 1 },
});

/** `hosts`: the URL of the scripted hosts. */
export const settings = (hosts: string): Record<string, unknown> => ({
	BACKENDS: {
		openai: { kind: "openai", url: `${hosts}/openai/v1`, key: "OPENAI_API_KEY" },
		anthropic: { kind: "anthropic", url: `${hosts}/anthropic`, key: "ANTHROPIC_API_KEY" },
		google: { kind: "gemini", url: `${hosts}/google`, key: "GEMINI_API_KEY" },
		engine: { kind: "openai", url: `${hosts}/engine/v1` },
	},
	ROUTES: {
		"gpt-*": route("openai"),
		"openai/gpt-5.5": route("openai", "gpt-5.5"),
		"openai/gpt-5.6-sol": route("openai", "gpt-5.6-sol"),
		"openai/gpt-6-astra": route("openai", "gpt-6-astra"),
		"claude-*": route("anthropic"),
		"anthropic/claude-opus-5.5": route("anthropic", "claude-opus-5-5"),
		"anthropic/claude-sonnet-5.5": route("anthropic", "claude-sonnet-5-5"),
		"gemini-*": route("google"),
		"google/gemini-3.8-flash": route("google", "gemini-3.8-flash"),
		"@cf/*": route("engine", ENGINE_MODEL),
	},
	LIMITS: { requests_per_minute: "none" },
	OPENAI_API_KEY: OPENAI_KEY,
	ANTHROPIC_API_KEY: ANTHROPIC_KEY,
	GEMINI_API_KEY: GOOGLE_KEY,
});
