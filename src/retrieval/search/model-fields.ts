/** The console has the same fields, so this file imports nothing. */

/** The fields of an instance that name models. */
export const MODEL_FIELDS = [
	"embedding_model",
	"ai_search_model",
	"rewrite_model",
	"reranking_model",
] as const;

export type ModelField = (typeof MODEL_FIELDS)[number];
