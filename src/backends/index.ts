/**
 * Every kind of backend. The one that most deployments have is there from the start; each other is a module that is
 * loaded when the first request asks for it.
 */
import type { Backend, BackendKind } from "./backend.ts";
import { openai } from "./openai/index.ts";

const MODULES: Record<BackendKind, () => Promise<Backend>> = {
	simulator: async () => (await import("./simulator/index.ts")).simulator,
	openai: async () => openai,
	anthropic: async () => (await import("./anthropic/index.ts")).anthropic,
	gemini: async () => (await import("./gemini/index.ts")).gemini,
	tei: async () => (await import("./tei/index.ts")).tei,
	ollama: async () => (await import("./ollama/index.ts")).ollama,
	"workers-ai": async () => (await import("./workers-ai/index.ts")).workersAi,
	cog: async () => (await import("./cog/index.ts")).cog,
};

/** To ask the runtime again for a module that it has costs each request. */
const loaded: Partial<Record<BackendKind, Backend>> = {};

/** The promise is the request's own; the module is nobody's, and is evaluated once for all who wait for it. */
export async function backendOf(kind: BackendKind): Promise<Backend> {
	const known = loaded[kind];
	if (known) return known;
	const backend = await MODULES[kind]();
	loaded[kind] = backend;
	return backend;
}
