/** The search hosts that the real ones are: each refuses what its API refuses, and records the requests that it takes. */

export interface SearchHosts {
	fetch: typeof fetch;
	/** In the order of their arrival, also those that are refused. */
	requests: { url: string; body: unknown; headers: Headers }[];
}

const json = (body: unknown, status = 200, headers: HeadersInit = {}): Response =>
	Response.json(body, { status, headers });

interface Received {
	url: URL;
	body: Record<string, unknown>;
	headers: Headers;
}

const only = (body: object, allowed: readonly string[]): string | undefined =>
	Object.keys(body).find((name) => !allowed.includes(name));

const HOSTS: Record<string, (request: Received) => Response> = {
	"POST api.exa.ai/search"({ body, headers }) {
		if (headers.get("x-api-key") !== "exa-secret") return json({ error: "Invalid API key" }, 401);
		const unknown = only(body, [
			"query",
			"type",
			"numResults",
			"contents",
			"includeDomains",
			"excludeDomains",
			"userLocation",
		]);
		if (unknown) return json({ error: `Unrecognized key: ${unknown}` }, 400);
		return json({
			requestId: "exa-1",
			resolvedSearchType: "neural",
			searchTime: 12,
			costDollars: { total: 0.007 },
			results: [
				{
					id: "https://developers.cloudflare.com/durable-objects/",
					url: "https://developers.cloudflare.com/durable-objects/",
					title: "Durable Objects",
					publishedDate: "2026-10-01T00:00:00.000Z",
					author: "",
					score: 0.3,
					image: "https://developers.cloudflare.com/do.png",
					favicon: "https://developers.cloudflare.com/favicon.ico",
					highlights: ["A Durable Object has storage.", "It is single-threaded."],
				},
				{ id: "x", url: "https://example.com/untitled", title: null, text: "A page without a title." },
			],
		});
	},
	"POST api.linkup.so/v1/search"({ body, headers }) {
		if (headers.get("authorization") !== "Bearer linkup-secret")
			return json(
				{ statusCode: 401, error: { code: "UNAUTHORIZED", message: "Invalid key", details: [] } },
				401,
			);
		if (typeof body.q !== "string" || body.outputType !== "searchResults")
			return json(
				{
					statusCode: 400,
					error: {
						code: "VALIDATION_ERROR",
						message: "Validation failed",
						details: [{ field: "q", message: "q is required" }],
					},
				},
				400,
			);
		if (body.q === "no credits")
			return json(
				{
					statusCode: 429,
					error: { code: "INSUFFICIENT_FUNDS_CREDITS", message: "No credits", details: [] },
				},
				429,
			);
		return json({
			results: [
				{
					type: "text",
					name: "Linkup page",
					url: "https://example.org/a",
					content: "Text of A",
					favicon: "",
				},
				{ type: "image", name: "A picture", url: "https://example.org/a.png" },
			],
		});
	},
	"POST api.tavily.com/search"({ body, headers }) {
		if (headers.get("authorization") !== "Bearer tavily-secret")
			return json({ detail: { error: "Unauthorized: missing or invalid API key." } }, 401);
		if (body.query === "over the plan")
			return json({ detail: { error: "This request exceeds your plan" } }, 432);
		if (body.search_depth !== "basic") return json({ detail: { error: "Invalid search_depth" } }, 400);
		return json({
			query: body.query,
			images: [],
			results: [
				{
					title: "Tavily page",
					url: "https://example.net/t",
					content: "Text of T",
					raw_content: null,
					score: 0.9,
					published_date: "2026-11-01",
					favicon: "https://example.net/f.ico",
				},
			],
			response_time: 0.4,
			request_id: "t-1",
		});
	},
	"GET api.search.brave.com/res/v1/web/search"({ url, headers }) {
		if (headers.get("x-subscription-token") !== "brave-secret")
			return json({ type: "ErrorResponse", error: { status: 422, code: "SUBSCRIPTION_TOKEN_INVALID" } }, 422);
		const { q = "", count = "20" } = Object.fromEntries(url.searchParams);
		if (Number(count) > 20 || q.length > 400 || q === "")
			return json({ type: "ErrorResponse", error: { status: 422, code: "VALIDATION" } }, 422);
		if (q === "too fast")
			return json({ type: "ErrorResponse", error: { code: "RATE_LIMITED" } }, 429, { "retry-after": "7" });
		if (q === "nothing") return json({ type: "search", query: { original: q } });
		return json({
			type: "search",
			query: { original: q },
			web: {
				type: "search",
				results: [
					{
						title: "Brave page",
						url: "https://example.com/b",
						description: "Text of B",
						age: "3 days ago",
						page_age: "2026-11-20T00:00:00",
						thumbnail: { src: "https://imgs.search.brave.com/b.png" },
						meta_url: { hostname: "example.com", favicon: "https://imgs.search.brave.com/f.ico" },
					},
				],
			},
		});
	},
	"POST api.ceramic.ai/search"({ body, headers }) {
		const problem = (status: number, code: string) =>
			json({ title: "Error", status, detail: code, requestId: "c", code }, status);
		if (headers.get("authorization") !== "Bearer ceramic-secret") return problem(401, "missing_api_key");
		if (only(body, ["query"])) return problem(400, "unsupported_parameter");
		if (String(body.query).split(/\s+/).length > 50) return problem(400, "query_too_long");
		return json({
			requestId: "c-1",
			result: {
				results: Array.from({ length: 10 }, (_, index) => ({
					title: `Ceramic page ${index + 1}`,
					url: `https://example.com/c/${index + 1}`,
					description: `Text of C${index + 1}`,
				})),
				searchMetadata: { executionTime: 0.1 },
				totalResults: 10,
			},
		});
	},
	"GET searx.lan/search"({ url }) {
		if (url.searchParams.get("format") !== "json")
			return new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
		if (url.searchParams.get("q") === "limiter") return new Response("Too Many Requests", { status: 429 });
		return json({
			query: url.searchParams.get("q"),
			number_of_results: 0,
			results: [
				{
					url: "https://example.com/s",
					title: "SearXNG page",
					content: "Text of S",
					engine: "duckduckgo",
					engines: ["duckduckgo"],
					score: 1,
					category: "general",
					publishedDate: null,
					thumbnail: "",
					img_src: "https://example.com/s.png",
				},
				{ url: "https://evil.example.net/s", title: "Another host", content: "Text" },
			],
			answers: [],
			corrections: [],
			infoboxes: [],
			suggestions: [],
			unresponsive_engines: [["google", "CAPTCHA"]],
		});
	},
	// An instance with the default settings.
	"GET html-only.lan/search"({ url }) {
		return url.searchParams.get("format") === "json"
			? new Response("<!doctype html><title>403 Forbidden</title>", {
					status: 403,
					headers: { "content-type": "text/html" },
				})
			: new Response("<!doctype html>", { headers: { "content-type": "text/html" } });
	},
};

/** Other addresses are answered by `otherwise`, or not at all. */
export function searchHosts(otherwise?: typeof fetch): SearchHosts {
	const requests: SearchHosts["requests"] = [];
	return {
		requests,
		fetch: async (input, init) => {
			const request = new Request(input, init);
			const url = new URL(request.url);
			const host = HOSTS[`${request.method} ${url.host}${url.pathname}`];
			if (!host) {
				if (otherwise) return otherwise(input, init);
				throw new TypeError(`Nothing answers on ${url.host}`);
			}
			const body = request.method === "POST" ? await request.json<Record<string, unknown>>() : {};
			requests.push({ url: request.url, body, headers: request.headers });
			return host({ url, body, headers: request.headers });
		},
	};
}

/** Settings with every provider. */
export const SEARCH_VARS = {
	WEB_SEARCH: {
		exa: { kind: "exa", key: "EXA_KEY" },
		linkup: { kind: "linkup", key: "LINKUP_KEY" },
		tavily: { kind: "tavily", key: "TAVILY_KEY" },
		brave: { kind: "brave", key: "BRAVE_KEY" },
		ceramic: { kind: "ceramic", key: "CERAMIC_KEY" },
		"in-house": { kind: "searxng", url: "http://searx.lan" },
		"html-only": { kind: "searxng", url: "http://html-only.lan" },
		"wrong-key": { kind: "brave", key: "CERAMIC_KEY" },
	},
	EXA_KEY: "exa-secret",
	LINKUP_KEY: "linkup-secret",
	TAVILY_KEY: "tavily-secret",
	BRAVE_KEY: "brave-secret",
	CERAMIC_KEY: "ceramic-secret",
};
