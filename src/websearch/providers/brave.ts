/** Brave Search: https://api-dashboard.search.brave.com/app/documentation/web-search. It answers at most 20 pages. */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { itemOf, type SearchProvider, withQuery } from "../provider.ts";
import { withSites } from "./sites.ts";

const MAX_COUNT = 20;
/** Characters. Brave refuses a longer query with 422. */
const MAX_QUERY = 400;

const text = z.string().nullish();
const Result = z.object({
	url: z.string(),
	title: text,
	description: text,
	page_age: text,
	age: text,
	thumbnail: z.object({ src: text }).nullish(),
	meta_url: z.object({ favicon: text }).nullish(),
});

export const brave: SearchProvider = {
	url: "https://api.search.brave.com/res/v1",
	keyHeader: "x-subscription-token",
	usdPerThousand: 5,
	request: ({ country, limit, ...search }) => ({
		path: withQuery("/web/search", {
			q: withSites(search, MAX_QUERY),
			count: String(Math.min(limit, MAX_COUNT)),
			text_decorations: "false",
			...(country !== undefined && { country }),
		}),
	}),
	answer: lazy(() =>
		// `web` is absent if there are no pages.
		z.object({ web: z.object({ results: z.array(Result) }).nullish() }).transform(({ web }) =>
			(web?.results ?? []).map(({ url, title, description, page_age, age, thumbnail, meta_url }) =>
				itemOf({
					url,
					title,
					description,
					imageUrl: thumbnail?.src,
					faviconUrl: meta_url?.favicon,
					lastModifiedDate: page_age ?? age,
				}),
			),
		),
	),
};
