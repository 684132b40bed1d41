/**
 * Anthropic's own web search: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool. Its blocks become the searches
 * of the answer, and the citations of a text block become citations of the complete block. The contents of pages are encrypted for
 * Anthropic's models, so other formats have the addresses and titles. A search that Anthropic leaves to the next request, because the model
 * also calls a function, ends as `unavailable`: callers of other formats cannot send it back.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { present } from "../../core/present.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type {
	EngineSearch,
	WebSearchCall,
	WebSearchProblem,
	WebSearchSource,
} from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import type { AnthropicBlock } from "./thoughts.ts";
import type { Traits } from "./traits.ts";

export const SEARCH_NAME = "web_search";

export interface WebSearchTool {
	type: "web_search_20250305";
	name: typeof SEARCH_NAME;
	max_uses?: number;
	allowed_domains?: readonly string[];
	blocked_domains?: readonly string[];
	user_location?: object;
}

/** Anthropic's tool in the request. It has a fixed name, so a request with a function of that name is sent without. */
export function searchTools(
	search: EngineSearch | undefined,
	{ traits, functions }: { traits: Traits; functions: readonly { name: string }[] },
	{ report }: Pick<Call, "report">,
): WebSearchTool[] {
	if (!search) return [];
	if (!traits.searches || functions.some(({ name }) => name === SEARCH_NAME)) {
		report?.dropped.push(search.name);
		return [];
	}
	const { maxUses, location } = search;
	return [
		{
			type: "web_search_20250305",
			name: SEARCH_NAME,
			...present({ max_uses: maxUses }),
			...domainsOf(search),
			...(location && { user_location: { type: "approximate", ...location } }),
		},
	];
}

/** The API refuses both lists in one request. */
function domainsOf({ allowedDomains, blockedDomains = [] }: EngineSearch): Partial<WebSearchTool> {
	if (allowedDomains)
		return { allowed_domains: allowedDomains.filter((domain) => !blockedDomains.includes(domain)) };
	return blockedDomains.length > 0 ? { blocked_domains: blockedDomains } : {};
}

export const isSearchUse = ({ type, name }: AnthropicBlock): boolean =>
	type === "server_tool_use" && name === SEARCH_NAME;

const Page = z.looseObject({ url: z.string(), title: z.string().nullish(), page_age: z.string().nullish() });

const PROBLEMS: ReadonlySet<string> = new Set<WebSearchProblem>([
	"invalid_tool_input",
	"max_uses_exceeded",
	"query_too_long",
	"too_many_requests",
]);

/** The outcome in the content of a `web_search_tool_result`. */
function outcomeOf(content: unknown): NonNullable<WebSearchCall["outcome"]> {
	if (!Array.isArray(content)) {
		const code = isRecord(content) ? content.error_code : undefined;
		const isKnown = (name: unknown): name is WebSearchProblem => PROBLEMS.has(String(name));
		return { problem: isKnown(code) ? code : "unavailable" };
	}
	const sources = content.flatMap((sent): WebSearchSource[] => {
		const { data } = safeParse(Page, sent);
		if (!data) return [];
		const { url, title, page_age } = data;
		return [{ url, title: title || url, text: "", ...(page_age && { date: page_age }) }];
	});
	return { sources };
}

/** The searches and citations of one answer. */
export class SearchBlocks {
	readonly #uuid: () => string;
	/** Searches without a result, by Anthropic's ids. */
	readonly #started = new Map<string, WebSearchCall>();

	constructor({ services }: Pick<Call, "services">) {
		this.#uuid = services.uuid;
	}

	/** @param input of the complete block. */
	start(id: string | null | undefined, input: Record<string, unknown> | undefined): WebSearchCall {
		const query = typeof input?.query === "string" ? input.query : "";
		const call = { id: this.#uuid(), query };
		this.#started.set(id ?? "", call);
		return call;
	}

	/** `undefined`: the block is no result of a search. */
	result({ type, tool_use_id, content }: AnthropicBlock): Required<WebSearchCall> | undefined {
		const id = String(tool_use_id);
		const call = this.#started.get(id);
		if (type !== "web_search_tool_result" || !call) return undefined;
		this.#started.delete(id);
		return { ...call, outcome: outcomeOf(content) };
	}

	/** Searches whose results the answer does not have. */
	unfinished(): Required<WebSearchCall>[] {
		return [...this.#started.values()].map((call) => ({ ...call, outcome: { problem: "unavailable" } }));
	}
}

const Citation = z.looseObject({
	type: z.literal("web_search_result_location"),
	url: z.string(),
	title: z.string().nullish(),
});

/** In the form of chat, one for each page that the block cites. `start`, `end`: the place of the block in the complete text. */
export function annotationsOf(
	citations: readonly unknown[],
	place: { start: number; end: number },
): { type: "url_citation"; url_citation: object }[] {
	const cited = new Map<string, string>();
	for (const sent of citations) {
		const { data } = safeParse(Citation, sent);
		if (data && !cited.has(data.url)) cited.set(data.url, data.title || data.url);
	}
	return [...cited].map(([url, title]) => ({
		type: "url_citation",
		url_citation: { start_index: place.start, end_index: place.end, title, url },
	}));
}
