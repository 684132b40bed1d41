/**
 * Every kind of backend. The one that most deployments have is there from the start; each other is a module that is
 * loaded when the first request asks for it.
 */
import type { Backend, BackendKind, Target } from "./backend.ts";
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

/** A module belongs to no request: it is evaluated once, and a caller who leaves meanwhile takes nothing along. */
async function backendOf(kind: BackendKind): Promise<Backend> {
	const known = loaded[kind];
	if (known) return known;
	const backend = await MODULES[kind]();
	loaded[kind] = backend;
	return backend;
}

export type Backends = ReadonlyMap<BackendKind, Backend>;

/** Those of all kinds that the targets have. */
export async function backendsOf(targets: readonly Target[]): Promise<Backends> {
	const backends = new Map<BackendKind, Backend>();
	for (const { kind } of targets) if (!backends.has(kind)) backends.set(kind, await backendOf(kind));
	return backends;
}
