/** SearXNG (https://docs.searxng.org/dev/search_api.html): one result for each query. */
import { type Host, pageOf, Refusal } from "./script.ts";

export const searxng: Host = ({ path, query }) => {
	const fields = new URLSearchParams(query);
	if (path !== "/search") throw new Refusal(404, {});
	if (fields.get("format") !== "json") throw new Refusal(403, {});
	const text = fields.get("q") ?? "";
	return { json: { query: text, results: [{ ...pageOf(text), content: `About ${text}.`, engine: "none" }] } };
};
