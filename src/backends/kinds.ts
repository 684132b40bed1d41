/**
 * The kinds of backends, with the facts that the configuration reads. Their code is in `loaders.ts`: a command that reads the configuration
 * loads none of it.
 */
export interface KindFacts {
	/** The address of a service that has only one. */
	url?: string;
	/** Workers AI, or what represents it here: free, or at the catalogue's prices. */
	isProduct?: true;
	/** Its engines can load a model before its first request (`preload.ts`). */
	preloads?: true;
}

export const KINDS = {
	simulator: { isProduct: true },
	openai: { preloads: true },
	anthropic: { url: "https://api.anthropic.com" },
	gemini: { url: "https://generativelanguage.googleapis.com" },
	tei: {},
	ollama: { preloads: true },
	"workers-ai": { isProduct: true },
	local: {},
	cog: {},
} satisfies Record<string, KindFacts>;

export type BackendKind = keyof typeof KINDS;

/** Those with `preloads`. */
export type PreloadedKind = {
	[Kind in BackendKind]: (typeof KINDS)[Kind] extends { preloads: true } ? Kind : never;
}[BackendKind];

// The table is not empty, and its keys are kinds.
export const BACKEND_KINDS = Object.keys(KINDS) as [BackendKind, ...BackendKind[]];
