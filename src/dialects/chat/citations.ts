/**
 * The citations of an answer after a web search. The model cites a page by its address, as a Markdown link or bare (`searchTool` in
 * src/websearch asks for it). A citation is found by the address of a page that the search has found, so that the text of the answer
 * needs no change.
 */
import { isRecord } from "../../core/json.ts";
import type { WebSearchCall, WebSearchSource } from "../../tasks/text-generation/types.ts";

export interface Citation {
	source: WebSearchSource;
	/** As the engine sent it. Some engines send the addresses of pages before their titles. */
	title: string;
	/** UTF-16 positions of the link in the text. */
	start: number;
	end: number;
}

/** The pages of all searches, without repetitions. */
export function sourcesOf(searches: readonly WebSearchCall[]): WebSearchSource[] {
	const byUrl = new Map<string, WebSearchSource>();
	for (const { outcome } of searches)
		if (outcome && "sources" in outcome)
			for (const source of outcome.sources) if (!byUrl.has(source.url)) byUrl.set(source.url, source);
	return [...byUrl.values()];
}

/** A link with its text, or an address. The address ends at white space, a bracket or a quote. */
const LINK = /\[[^\]\n]{0,300}\]\(<?(https?:\/\/[^\s)>]+)>?[^)\n]{0,200}\)|(https?:\/\/[^\s<>"'\])]+)/g;
const PUNCTUATION_AT_END = /[.,;:!?*_`]+$/;

export function citationsIn(text: string, sources: readonly WebSearchSource[]): Citation[] {
	if (sources.length === 0 || !text.includes("http")) return [];
	const byUrl = new Map(sources.map((source) => [normalized(source.url), source]));
	return [...text.matchAll(LINK)].flatMap(({ 0: match, 1: linked, 2: bare, index }) => {
		const address = (linked ?? bare ?? "").replace(PUNCTUATION_AT_END, "");
		const source = byUrl.get(normalized(address));
		const length = linked === undefined ? address.length : match.length;
		return source ? [{ source, title: source.title, start: index, end: index + length }] : [];
	});
}

/** Models omit a trailing slash. */
const normalized = (url: string): string => url.replace(/#.*$/, "").replace(/\/$/, "");

/** The citations that an engine sent, in the form of chat. A page that no search has found has no excerpt. */
export function citationsOf(
	annotations: readonly unknown[] | null | undefined,
	sources: readonly WebSearchSource[],
): Citation[] {
	const found = new Map(sources.map((source) => [source.url, source]));
	return (annotations ?? []).flatMap((sent) => {
		const cited = isRecord(sent) && isRecord(sent.url_citation) ? sent.url_citation : sent;
		if (!isRecord(cited) || typeof cited.url !== "string" || !URL.canParse(cited.url)) return [];
		const { url, title, start_index: start, end_index: end } = cited;
		if (typeof start !== "number" || typeof end !== "number") return [];
		const source = found.get(url) ?? { url, title: url, text: "" };
		found.set(url, source);
		return [{ source, title: typeof title === "string" ? title : source.title, start, end }];
	});
}

/** OpenAI's annotation in Responses. In chat it is inside `url_citation`. */
export const urlCitation = ({ source: { url }, title, start, end }: Citation) => ({
	start_index: start,
	end_index: end,
	title,
	url,
});
