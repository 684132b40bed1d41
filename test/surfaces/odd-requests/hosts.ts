/** A gateway in front of the scripted hosts of each API, which refuse what the real hosts refuse. */
import { type TestGateway, testGateway } from "../../gateway.ts";
import { ANTHROPIC_KEY, anthropic } from "../../hosts/anthropic/index.ts";
import { ENGINE_MODEL, engine } from "../../hosts/engine.ts";
import { hostFetch } from "../../hosts/fetch.ts";
import { GOOGLE_KEY, google } from "../../hosts/google/index.ts";
import { OLLAMA_MODEL, ollama } from "../../hosts/ollama.ts";
import { OPENAI_KEY, openai } from "../../hosts/openai/index.ts";
import type { Conversation, Host, Script } from "../../hosts/script.ts";
import {
	WORKERS_AI_KEY,
	WORKERS_AI_MODEL,
	WORKERS_AI_TEXT_MODEL,
	workersAi,
} from "../../hosts/workers-ai.ts";

const OPENAI_URL = "https://api.openai.com/v1";
const WORKERS_AI = {
	kind: "workers-ai",
	url: "https://api.cloudflare.com/client/v4/accounts/acme/ai",
	key: "WORKERS_AI_KEY",
};

/** The model that a caller names, and what answers it. */
const TARGETS: Readonly<Record<string, { host: Host; backend: object; model: string }>> = {
	"OpenAI's chat completions": {
		host: openai,
		backend: { kind: "openai", api: "chat", url: OPENAI_URL, key: "OPENAI_KEY" },
		model: "gpt-4.1",
	},
	"OpenAI's Responses": {
		host: openai,
		backend: { kind: "openai", api: "responses", url: OPENAI_URL, key: "OPENAI_KEY" },
		model: "gpt-6.1-sol",
	},
	"Anthropic, a budget": {
		host: anthropic,
		backend: { kind: "anthropic", url: "https://api.anthropic.com", key: "ANTHROPIC_KEY" },
		model: "claude-sonnet-4-5",
	},
	"Anthropic, an effort": {
		host: anthropic,
		backend: { kind: "anthropic", url: "https://api.anthropic.com", key: "ANTHROPIC_KEY" },
		model: "claude-opus-5-5",
	},
	Gemini: {
		host: google,
		backend: { kind: "gemini", url: "https://generativelanguage.googleapis.com", key: "GOOGLE_KEY" },
		model: "gemini-3.8-flash",
	},
	"an engine": {
		host: engine,
		backend: { kind: "openai", url: "http://engine.internal/v1" },
		model: ENGINE_MODEL,
	},
	Ollama: { host: ollama, backend: { kind: "ollama", url: "http://ollama.internal" }, model: OLLAMA_MODEL },
	"Workers AI": { host: workersAi, backend: WORKERS_AI, model: WORKERS_AI_MODEL },
	"Workers AI, an older model": { host: workersAi, backend: WORKERS_AI, model: WORKERS_AI_TEXT_MODEL },
};
export const TARGET_NAMES = Object.keys(TARGETS);
export const OPENAI = TARGET_NAMES.filter((name) => name.startsWith("OpenAI"));
export const ANTHROPIC = TARGET_NAMES.filter((name) => name.startsWith("Anthropic"));

export const MODEL = "acme/assistant-1";
export const EMBEDDINGS_MODEL = "acme/embed-1";

/** `seen`: the conversations as the host has read them. */
export function gatewayTo(name: string): TestGateway & { seen: Conversation[]; bodies: string[] } {
	const target = TARGETS[name];
	if (!target) throw new Error(`No target ${name}`);
	const seen: Conversation[] = [];
	const bodies: string[] = [];
	const script: Script = (conversation) => {
		seen.push(conversation);
		return { kind: "text", pieces: ["Hel", "lo"] };
	};
	const service = hostFetch(target.host, script);
	const made = testGateway({
		vars: {
			OPENAI_KEY,
			ANTHROPIC_KEY,
			GOOGLE_KEY,
			WORKERS_AI_KEY,
			BACKENDS: { host: target.backend },
			ROUTES: Object.fromEntries(
				[MODEL, EMBEDDINGS_MODEL].map((id) => [
					id,
					{ targets: [{ backend: "host", model: target.model }], retries: { attempts: 1 } },
				]),
			),
			MODELS: {
				[EMBEDDINGS_MODEL]: { task: "Text Embeddings" },
				[MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning", "vision"] },
			},
		},
		fetch: async (input, init) => {
			const request = new Request(input, init);
			bodies.push(await request.clone().text());
			return service(request);
		},
	});
	return { ...made, seen, bodies };
}
