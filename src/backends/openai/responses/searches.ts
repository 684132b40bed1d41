/** The searches of an answer: https://platform.openai.com/docs/guides/tools-web-search. The service does not send what it read of a page. */
import * as z from "zod";
import { safeParse } from "../../../schemas/safe-parse.ts";
import type { WebSearchCall } from "../../../tasks/text-generation/types.ts";
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

/** One search for each query of the item. The service does not say which query found a page, so the first one has all pages. */
export function searchesIn(item: unknown, { services }: Pick<Call, "services">): Required<WebSearchCall>[] {
	const { data } = safeParse(Search, item);
	if (!data) return [];
	const { status, action } = data;
	const sources = (action.sources ?? []).flatMap(({ url }) => (url ? [{ url, title: url, text: "" }] : []));
	const queries = action.queries?.length ? action.queries : [action.query ?? ""];
	return queries.map((query, at) => ({
		id: services.uuid(),
		query,
		outcome: status === "failed" ? { problem: "unavailable" } : { sources: at === 0 ? sources : [] },
	}));
}
