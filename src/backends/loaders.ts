/**
 * The code of each kind of backend. The kind that most deployments use is loaded at the start; each other is a module that is loaded with
 * the first request for it.
 */
import type { Backend } from "./backend.ts";
import type { BackendKind } from "./kinds.ts";
import { openai } from "./openai/index.ts";

export const LOADERS: Readonly<Record<BackendKind, () => Promise<Backend>>> = {
	simulator: async () => (await import("./simulator/index.ts")).simulator,
	openai: async () => openai,
	anthropic: async () => (await import("./anthropic/index.ts")).anthropic,
	gemini: async () => (await import("./gemini/index.ts")).gemini,
	tei: async () => (await import("./tei/index.ts")).tei,
	ollama: async () => (await import("./ollama/index.ts")).ollama,
	"workers-ai": async () => (await import("./workers-ai/index.ts")).workersAi,
	local: async () => (await import("./local/index.ts")).local,
	cog: async () => (await import("./cog/index.ts")).cog,
};
