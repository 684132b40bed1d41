/** The backends and models that search the web by themselves. */
import { searchesWeb as claudeSearches } from "./anthropic/traits.ts";
import { searchesWeb as geminiSearches } from "./gemini/generation.ts";
import { isOpenAiService } from "./openai/hosts.ts";
import { openAiModel } from "./openai/model-table.ts";

/** A backend that a route names, and its model. */
interface SearchTarget {
	kind: string;
	urls: readonly string[];
	api?: string | undefined;
	model: string;
}

/** OpenAI's own service with a model that searches. Another host with its API may have no search. */
export const openAiSearches = ({ kind, urls, api, model }: SearchTarget): boolean =>
	kind === "openai" &&
	api !== "chat" &&
	urls.length > 0 &&
	urls.every((url) => isOpenAiService({ url })) &&
	openAiModel(model)?.searches !== false;

/** Whether the backend searches by itself, for callers of all formats. */
export function searchesItself(target: SearchTarget): boolean {
	if (target.kind === "gemini") return geminiSearches(target.model);
	return target.kind === "anthropic" ? claudeSearches(target.model) : openAiSearches(target);
}
