/** The web searches of an answer, which the gateway runs for a model, or which the engine runs itself. */

/** A page that a web search has found, as the model received it. */
export interface WebSearchSource {
	url: string;
	title: string;
	/** The excerpt that the model received. */
	text: string;
	/** As the search provider sent it. */
	date?: string;
}

/** Why a search has no pages. The names are Anthropic's. */
export type WebSearchProblem =
	| "invalid_tool_input"
	| "max_uses_exceeded"
	| "query_too_long"
	| "too_many_requests"
	| "unavailable";

/** One web search for the model, inside its answer. */
export interface WebSearchCall {
	/** Without a prefix. */
	id: string;
	query: string;
	/** Absent: the search has started, and a later delta has its outcome; or it is left to the caller's next request. */
	outcome?: { sources: readonly WebSearchSource[] } | { problem: WebSearchProblem };
}

/** The place for which a search prefers results. */
export interface SearchLocation {
	city?: string;
	region?: string;
	/** Two letters. */
	country?: string;
	/** IANA. */
	timezone?: string;
}

/** How much of the pages the model receives. */
export type SearchContextSize = "low" | "medium" | "high";

/** What a request sets for searches that the engine runs itself. An engine ignores the settings that it does not have, but not the domains. */
export interface EngineSearch {
	allowedDomains?: readonly string[];
	blockedDomains?: readonly string[];
	/** Searches in one answer. */
	maxUses?: number;
	contextSize?: SearchContextSize;
	location?: SearchLocation;
	/** The model must search. */
	isForced?: true;
	/** The caller's format has the searches themselves, not only the citations. */
	showsSearches: boolean;
	/** The caller's tool in `x-ganglion-dropped`, if the engine cannot take it. */
	name: string;
}
