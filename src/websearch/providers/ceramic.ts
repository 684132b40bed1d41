/**
 * Ceramic, the product's default: https://docs.ceramic.ai/api-reference/search. It takes only a query, of at most 50 words, and answers
 * ten pages.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { itemOf, type SearchProvider } from "../provider.ts";

const MAX_WORDS = 50;

const text = z.string().nullish();
const Result = z.object({ url: z.string(), title: text, description: text });

export const ceramic: SearchProvider = {
	url: "https://api.ceramic.ai",
	keyHeader: "authorization",
	usdPerThousand: 0.25,
	request: ({ query }) => ({
		path: "/search",
		json: { query: query.trim().split(/\s+/).slice(0, MAX_WORDS).join(" ") },
	}),
	answer: lazy(() =>
		z
			.object({ result: z.object({ results: z.array(Result) }) })
			.transform(({ result }) => result.results.map((found) => itemOf(found))),
	),
};
