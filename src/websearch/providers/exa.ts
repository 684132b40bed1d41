/** Exa: https://docs.exa.ai/reference/search. Its highlights are the description, because they answer the query. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { itemOf, type SearchProvider } from "../provider.ts";

const text = z.string().nullish();
const Result = z.object({
	url: z.string(),
	title: text,
	publishedDate: text,
	image: text,
	favicon: text,
	highlights: z.array(z.string()).nullish(),
	text,
});

export const exa: SearchProvider = {
	url: "https://api.exa.ai",
	keyHeader: "x-api-key",
	usdPerThousand: 7,
	request: ({ query, limit, allowedDomains, blockedDomains, country }) => ({
		path: "/search",
		json: {
			query,
			type: "auto",
			numResults: limit,
			contents: { highlights: true },
			...(allowedDomains && { includeDomains: allowedDomains }),
			...(blockedDomains && { excludeDomains: blockedDomains }),
			...(country !== undefined && { userLocation: country }),
		},
	}),
	answer: lazy(() =>
		z.object({ results: z.array(Result) }).transform(({ results }) =>
			results.map(({ url, title, publishedDate, image, favicon, highlights, text: page }) =>
				itemOf({
					url,
					title,
					description: highlights?.length ? highlights.join("\n") : page,
					imageUrl: image,
					faviconUrl: favicon,
					lastModifiedDate: publishedDate,
				}),
			),
		),
	),
};
