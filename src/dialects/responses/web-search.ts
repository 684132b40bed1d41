/**
 * The items of the gateway's web searches, `web_search_call`, and the citations of their pages. The ids begin with `ws_gw_`, so that
 * items of the gateway are recognised when the caller sends them back: OpenAI's service does not know them.
 */
import type { WebSearchCall, WebSearchSource } from "../../tasks/text-generation/types.ts";
import { citationsIn, urlCitation } from "../chat/citations.ts";
import type { WriteContext } from "../dialect.ts";
import type { Part, WebSearchItem } from "./items.ts";
import type { ResponsesRequest } from "./request.ts";

export const SEARCH_ITEM_PREFIX = "ws_gw_";

const searchItemId = ({ id }: WebSearchCall): string => SEARCH_ITEM_PREFIX + id;

export function searchItem(call: WebSearchCall, { inputs }: WriteContext): WebSearchItem {
	const { query, outcome } = call;
	const { include } = inputs as ResponsesRequest; // the reader of this dialect parsed it
	const sources = outcome && "sources" in outcome ? outcome.sources : undefined;
	const hasSources = sources && include?.includes("web_search_call.action.sources");
	const hasResults = sources && include?.includes("web_search_call.results");
	return {
		id: searchItemId(call),
		type: "web_search_call",
		status: outcome ? (sources ? "completed" : "failed") : "in_progress",
		action: {
			type: "search",
			query,
			queries: [query],
			...(hasSources && { sources: sources.map(({ url }) => ({ type: "url", url })) }),
		},
		...(hasResults && { results: sources.map(({ url, title, text }) => ({ url, title, text })) }),
	};
}

type Annotations = Extract<Part, { type: "output_text" }>["annotations"];

export const annotationsIn = (text: string, sources: readonly WebSearchSource[]): Annotations =>
	citationsIn(text, sources).map((citation) => ({ type: "url_citation", ...urlCitation(citation) }));
