/**
 * SearXNG: https://docs.searxng.org/dev/search_api.html. An instance answers JSON only if `search.formats` of its settings lists it,
 * and by default it does not. Engines of the instance that fail are missing in a successful answer.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { itemOf, type SearchProvider, withQuery } from "../provider.ts";
import { withSites } from "./sites.ts";

const MAX_QUERY = 2_048;

const text = z.string().nullish();
const Result = z.object({
	url: z.string(),
	title: text,
	content: text,
	publishedDate: text,
	thumbnail: text,
	img_src: text,
});

export const searxng: SearchProvider = {
	// For an instance behind a proxy that requires a token.
	keyHeader: "authorization",
	usdPerThousand: 0,
	request: (search) => ({ path: withQuery("/search", { q: withSites(search, MAX_QUERY), format: "json" }) }),
	answer: lazy(() =>
		z.object({ results: z.array(Result) }).transform(({ results }) =>
			results.map(({ url, title, content, publishedDate, thumbnail, img_src }) =>
				itemOf({
					url,
					title,
					description: content,
					imageUrl: thumbnail || img_src,
					lastModifiedDate: publishedDate,
				}),
			),
		),
	),
	refusals: {
		403: "SearXNG answers 403 if its search.formats does not list json, or if its limiter refuses this gateway",
	},
};
