/** What backends and models do by themselves, which the gateway does for the others: searches of the web, and the compaction of conversations. */
import { searchesWeb as claudeSearches } from "./anthropic/traits.ts";
import { searchesWeb as geminiSearches } from "./gemini/generation.ts";
import { serviceAt } from "./openai/hosts.ts";
import { openAiModel } from "./openai/model-table.ts";

/** A backend that a route names, and its model. */
interface RoutedTarget {
	kind: string;
	urls: readonly string[];
	api?: string | undefined;
	model: string;
}

/** OpenAI's own service, by its Responses API. Another host with this API may have less. */
const isOpenAiResponses = ({ kind, urls, api }: RoutedTarget): boolean =>
	kind === "openai" && api !== "chat" && urls.length > 0 && urls.every((url) => serviceAt({ url }).isOpenAi);

/** OpenAI's service with a model that searches. */
export const openAiSearches = (target: RoutedTarget): boolean =>
	isOpenAiResponses(target) && openAiModel(target.model)?.searches !== false;

/** Whether the backend shortens a conversation, as `context_management` of OpenAI's Responses asks. */
export const compactsItself = (target: RoutedTarget): boolean =>
	isOpenAiResponses(target) && openAiModel(target.model)?.apis.includes("responses") !== false;

/** Whether the backend searches by itself, for callers of all formats. */
export function searchesItself(target: RoutedTarget): boolean {
	if (target.kind === "gemini") return geminiSearches(target.model);
	return target.kind === "anthropic" ? claudeSearches(target.model) : openAiSearches(target);
}
