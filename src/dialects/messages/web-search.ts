/**
 * The blocks of the gateway's web searches: `server_tool_use`, `web_search_tool_result`, and the citations of their pages.
 *
 * `encrypted_content` and `encrypted_index` are opaque to clients, and Anthropic refuses those that it has not made. Those of the
 * gateway begin with a mark. They contain the excerpt that the model received, so that later turns have it.
 */
import { Buffer } from "node:buffer";
import * as z from "zod";
import { parseRecord } from "../../core/json.ts";
import type { WebSearchCall, WebSearchSource } from "../../tasks/text-generation/types.ts";
import { citationsIn, citationsOf } from "../chat/citations.ts";

const MARK = "ganglion-1.";
export const SERVER_TOOL_ID = "srvtoolu_gw_";
const CALLER = { type: "direct" } as const;
/** Characters of the cited text, as in Anthropic's API. */
const MAX_CITED = 150;

const Caller = z.object({ type: z.literal("direct") });
export const ServerToolUse = z.object({
	type: z.literal("server_tool_use"),
	id: z.string(),
	name: z.literal("web_search"),
	input: z.object({ query: z.string().optional() }),
	caller: Caller,
});
export const WebSearchToolResult = z.object({
	type: z.literal("web_search_tool_result"),
	tool_use_id: z.string(),
	caller: Caller,
	content: z.union([
		z.array(
			z.object({
				type: z.literal("web_search_result"),
				url: z.string(),
				title: z.string(),
				page_age: z.string().nullable(),
				encrypted_content: z.string(),
			}),
		),
		z.object({ type: z.literal("web_search_tool_result_error"), error_code: z.string() }),
	]),
});
export const SearchCitation = z.object({
	type: z.literal("web_search_result_location"),
	url: z.string(),
	title: z.string(),
	cited_text: z.string(),
	encrypted_index: z.string(),
});
type SearchCitation = z.output<typeof SearchCitation>;

/** A search that an earlier answer has left pending keeps its id. Its `server_tool_use` is in that answer. */
export const isContinued = ({ id }: WebSearchCall): boolean => id.startsWith("srvtoolu_");

const serverToolId = (call: WebSearchCall): string =>
	isContinued(call) ? call.id : SERVER_TOOL_ID + call.id.replaceAll("-", "");

export const serverToolUse = (call: WebSearchCall): z.output<typeof ServerToolUse> => ({
	type: "server_tool_use",
	id: serverToolId(call),
	name: "web_search",
	input: { query: call.query },
	caller: CALLER,
});

export function searchToolResult(
	call: WebSearchCall,
	outcome: NonNullable<WebSearchCall["outcome"]>,
): z.output<typeof WebSearchToolResult> {
	const content =
		"sources" in outcome
			? outcome.sources.map((source) => ({
					type: "web_search_result" as const,
					url: source.url,
					title: source.title,
					page_age: source.date ?? null,
					encrypted_content: sealed({ text: source.text }),
				}))
			: { type: "web_search_tool_result_error" as const, error_code: outcome.problem };
	return { type: "web_search_tool_result", tool_use_id: serverToolId(call), caller: CALLER, content };
}

/** One citation for each page that the text cites. `annotations`: citations that the engine sent. */
export function searchCitations(
	text: string,
	sources: readonly WebSearchSource[],
	annotations: readonly unknown[] | null | undefined,
): SearchCitation[] {
	const citations = [...citationsIn(text, sources), ...citationsOf(annotations, sources)];
	const cited = new Map(citations.map(({ source, title }) => [source, title]));
	return [...cited].map(([source, title]) => ({
		type: "web_search_result_location",
		url: source.url,
		title,
		cited_text: source.text.slice(0, MAX_CITED),
		encrypted_index: sealed({ index: sources.indexOf(source) }),
	}));
}

const sealed = (fields: object): string => MARK + Buffer.from(JSON.stringify(fields)).toString("base64url");

/** Whether the gateway has made the value. */
export const isOwnSeal = (sealedText: unknown): boolean =>
	typeof sealedText === "string" && sealedText.startsWith(MARK);

/** The excerpt in `encrypted_content`. Empty if the gateway has not made it. */
export function unsealedText(sealedText: string): string {
	if (!isOwnSeal(sealedText)) return "";
	const text = parseRecord(Buffer.from(sealedText.slice(MARK.length), "base64url").toString())?.text;
	return typeof text === "string" ? text : "";
}
