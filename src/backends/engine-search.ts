/** The form of the searches that an engine has run, in an answer. */
import type { ChatDelta, SearchedRound, WebSearchCall } from "../tasks/text-generation/types.ts";

/** The searches of a complete answer. Their text is in the message, so that the places of its citations are places in `content`. */
export const searchedField = (searches: readonly WebSearchCall[]): { searched?: SearchedRound[] } =>
	searches.length > 0 ? { searched: [{ content: "", reasoning: "", thinking_blocks: [], searches }] } : {};

/** One search for each query. The engine does not say which query found a page, so the first one has all pages. */
export const searchesFor = (
	queries: readonly string[],
	outcome: NonNullable<WebSearchCall["outcome"]>,
	uuid: () => string,
): Required<WebSearchCall>[] =>
	queries.map((query, at) => ({
		id: uuid(),
		query,
		outcome: at === 0 || "problem" in outcome ? outcome : { sources: [] },
	}));

/** The deltas of a search that has ended. */
export const searchDeltas = ({ outcome, ...started }: WebSearchCall): ChatDelta[] => [
	{ web_search: started },
	...(outcome ? [{ web_search: { ...started, outcome } }] : []),
];
