/**
 * The simulator of web search: deterministic items that cannot be taken for real ones. Their addresses never resolve (RFC 2606), and
 * each title and description says what they are.
 */
import type { SearchItem, SearchQuery } from "./provider.ts";

/** The name of the simulator in `WEB_SEARCH`, in headers and in logs. */
export const SIMULATOR = "simulator";

const ORIGIN = "https://simulated.invalid";
const SIMULATED_ITEMS = 3;
const NOTICE =
	"This is not a page of the web. No search provider is set up (WEB_SEARCH), so the gateway simulates one.";

export const simulatedItems = ({ query, limit }: Pick<SearchQuery, "query" | "limit">): SearchItem[] =>
	Array.from({ length: Math.min(limit, SIMULATED_ITEMS) }, (_, index) => ({
		url: `${ORIGIN}/search/${index + 1}?q=${encodeURIComponent(query)}`,
		title: `Simulated result ${index + 1} for: ${query}`,
		description: NOTICE,
	}));
