/**
 * The searches and citations of an answer: https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/web-search-tool. The blocks of
 * Anthropic's own search become the searches of the answer, and the citations of a text block become citations of the complete block. The
 * contents of pages are encrypted for Anthropic's models, so other formats have the addresses and titles. A search that Anthropic leaves to
 * the next request, because the model also calls a function, ends as `unavailable`: callers of other formats cannot send it back.
 */
import * as z from "zod";
import { isRecord, parseRecord } from "../../core/json.ts";
import { safeParse } from "../../schemas/safe-parse.ts";
import type {
	ChatDelta,
	EngineSearch,
	WebSearchCall,
	WebSearchProblem,
	WebSearchSource,
} from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import type { AnthropicBlock } from "./thoughts.ts";
import { SEARCH_NAME } from "./web-search.ts";

const isSearchUse = ({ type, name }: AnthropicBlock): boolean =>
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

/** Reads the blocks of one answer in their order. */
export class SearchBlocks {
	readonly #uuid: () => string;
	readonly #shows: boolean;
	/** Searches without a result, by Anthropic's ids. */
	readonly #started = new Map<string, WebSearchCall>();
	/** The open block of a search, with the pieces of its input. */
	#open: { block: AnthropicBlock; input: string } | undefined;
	/** Citations of the open text. */
	#citations: unknown[] = [];
	/** Where the text of the open block begins. */
	#textStart = 0;

	constructor({ services }: Pick<Call, "services">, { showsSearches }: EngineSearch) {
		this.#uuid = services.uuid;
		this.#shows = showsSearches;
	}

	/** @param textLength the characters of the text so far. */
	begin(block: AnthropicBlock, textLength: number): ChatDelta[] {
		if (isSearchUse(block)) this.#open = { block, input: "" };
		if (block.type === "text") {
			this.#textStart = textLength;
			this.#citations = Array.isArray(block.citations) ? [...block.citations] : [];
		}
		return this.#shown(this.#result(block));
	}

	addInput(piece: string): void {
		if (this.#open) this.#open.input += piece;
	}

	cite(citation: unknown): void {
		this.#citations.push(citation);
	}

	close(textLength: number): ChatDelta[] {
		if (this.#open) {
			const { block, input } = this.#open;
			this.#open = undefined;
			return this.#shown([this.#start(block.id, parseRecord(input) ?? block.input)]);
		}
		const annotations = annotationsOf(this.#citations.splice(0), { start: this.#textStart, end: textLength });
		return annotations.length > 0 ? [{ annotations }] : [];
	}

	/** Ends the searches whose results do not come. */
	unfinished(): ChatDelta[] {
		const outcome = { problem: "unavailable" } as const;
		return this.#shown([...this.#started.values()].map((call) => ({ ...call, outcome })));
	}

	#start(id: unknown, input: unknown): WebSearchCall {
		const query = isRecord(input) && typeof input.query === "string" ? input.query : "";
		const call = { id: this.#uuid(), query };
		this.#started.set(String(id ?? ""), call);
		return call;
	}

	/** The search that the block ends, if it is a result. */
	#result({ type, tool_use_id, content }: AnthropicBlock): WebSearchCall[] {
		const id = String(tool_use_id);
		const call = this.#started.get(id);
		if (type !== "web_search_tool_result" || !call) return [];
		this.#started.delete(id);
		return [{ ...call, outcome: outcomeOf(content) }];
	}

	#shown(searches: readonly WebSearchCall[]): ChatDelta[] {
		return this.#shows ? searches.map((web_search) => ({ web_search })) : [];
	}
}

const Citation = z.looseObject({
	type: z.literal("web_search_result_location"),
	url: z.string(),
	title: z.string().nullish(),
});

/** In the form of chat, one for each page that the block cites. `start`, `end`: the place of the block in the complete text. */
function annotationsOf(
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
