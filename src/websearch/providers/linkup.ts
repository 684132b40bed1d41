/** Linkup: https://docs.linkup.so. Results that are images are left out. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { itemOf, type SearchProvider } from "../provider.ts";

const text = z.string().nullish();
const Result = z.object({ type: text, url: z.string(), name: text, content: text, favicon: text });

export const linkup: SearchProvider = {
	url: "https://api.linkup.so/v1",
	keyHeader: "authorization",
	usdPerThousand: 5,
	request: ({ query, limit, allowedDomains, blockedDomains }) => ({
		path: "/search",
		json: {
			q: query,
			depth: "fast",
			outputType: "searchResults",
			maxResults: limit,
			...(allowedDomains && { includeDomains: allowedDomains }),
			...(blockedDomains && { excludeDomains: blockedDomains }),
		},
	}),
	answer: lazy(() =>
		z
			.object({ results: z.array(Result) })
			.transform(({ results }) =>
				results
					.filter(({ type }) => type !== "image")
					.map(({ url, name, content, favicon }) =>
						itemOf({ url, title: name, description: content, faviconUrl: favicon }),
					),
			),
	),
};
