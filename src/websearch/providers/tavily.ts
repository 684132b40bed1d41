/** Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { itemOf, type SearchProvider } from "../provider.ts";

const text = z.string().nullish();
const Result = z.object({ url: z.string(), title: text, content: text, published_date: text, favicon: text });

export const tavily: SearchProvider = {
	url: "https://api.tavily.com",
	keyHeader: "authorization",
	// One credit, at the price without a plan.
	usdPerThousand: 8,
	request: ({ query, limit, allowedDomains, blockedDomains }) => ({
		path: "/search",
		json: {
			query,
			search_depth: "basic",
			max_results: limit,
			include_favicon: true,
			...(allowedDomains && { include_domains: allowedDomains }),
			...(blockedDomains && { exclude_domains: blockedDomains }),
		},
	}),
	answer: lazy(() =>
		z.object({ results: z.array(Result) }).transform(({ results }) =>
			results.map(({ url, title, content, published_date, favicon }) =>
				itemOf({
					url,
					title,
					description: content,
					faviconUrl: favicon,
					lastModifiedDate: published_date,
				}),
			),
		),
	),
};
