/**
 * The kinds of backends: one folder and one line each. The kind that most deployments use is loaded at the start; each
 * other is a module that is loaded with the first request for it.
 */
import type { Backend } from "./backend.ts";
import { openai } from "./openai/index.ts";

export interface KindRow {
	load(): Promise<Backend>;
	/** The address of a service that has only one. */
	url?: string;
	/** Workers AI, or what represents it here: free, or at the catalogue's prices. */
	isProduct?: true;
}

export const KINDS = {
	simulator: { load: async () => (await import("./simulator/index.ts")).simulator, isProduct: true },
	openai: { load: async () => openai },
	anthropic: {
		load: async () => (await import("./anthropic/index.ts")).anthropic,
		url: "https://api.anthropic.com",
	},
	gemini: {
		load: async () => (await import("./gemini/index.ts")).gemini,
		url: "https://generativelanguage.googleapis.com",
	},
	tei: { load: async () => (await import("./tei/index.ts")).tei },
	ollama: { load: async () => (await import("./ollama/index.ts")).ollama },
	"workers-ai": { load: async () => (await import("./workers-ai/index.ts")).workersAi, isProduct: true },
	local: { load: async () => (await import("./local/index.ts")).local },
	cog: { load: async () => (await import("./cog/index.ts")).cog },
} satisfies Record<string, KindRow>;

export type BackendKind = keyof typeof KINDS;

// The table is not empty, and its keys are kinds.
export const BACKEND_KINDS = Object.keys(KINDS) as [BackendKind, ...BackendKind[]];
