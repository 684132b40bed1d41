/** The searches of an answer: https://platform.openai.com/docs/guides/tools-web-search. The service does not send what it read of a page. */
import * as z from "zod";
import { safeParse } from "../../../schemas/safe-parse.ts";
import type { WebSearchCall } from "../../../tasks/text-generation/types.ts";
import { searchesFor } from "../../engine-search.ts";
import type { Call } from "../../transport/upstream-failure.ts";

export const SEARCH_ITEM = "web_search_call";

const Search = z.looseObject({
	type: z.literal(SEARCH_ITEM),
	status: z.string().nullish(),
	action: z.looseObject({
		/** Others open a page that a search has found. */
		type: z.literal("search"),
		query: z.string().nullish(),
		queries: z.array(z.string()).nullish(),
		sources: z.array(z.looseObject({ url: z.string().nullish() })).nullish(),
	}),
});

/** The searches of an item of the answer. */
export function searchesIn(item: unknown, { services }: Pick<Call, "services">): Required<WebSearchCall>[] {
	const { data } = safeParse(Search, item);
	if (!data) return [];
	const { status, action } = data;
	const sources = (action.sources ?? []).flatMap(({ url }) => (url ? [{ url, title: url, text: "" }] : []));
	const queries = action.queries?.length ? action.queries : [action.query ?? ""];
	return searchesFor(queries, status === "failed" ? { problem: "unavailable" } : { sources }, services.uuid);
}
