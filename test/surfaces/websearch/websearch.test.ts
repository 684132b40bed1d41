/** Web search over REST and RPC, against scripted hosts of the search providers. */
import { describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import type { AiError } from "../../../src/core/errors.ts";
import { BASE, OPEN_ACCESS, replaceServices, testGateway, testServices } from "../../gateway.ts";
import { json } from "../../http/access.ts";
import { SEARCH_VARS, searchHosts } from "../../websearch/search-hosts.ts";

/** The fields of all forms of the answer. */
interface SearchBody {
	items: { url: string; title: string; description: string }[];
	error: Record<string, unknown> & { code: string; message: string } & [{ code: number }];
	success: boolean;
	errors: [{ code: number }];
	messages: [{ path: string[] }];
}

const IN_GATEWAY = { options: { gateway: { id: "default" } } };

function searchGateway(vars: Record<string, unknown> = SEARCH_VARS) {
	const hosts = searchHosts();
	const gateway = testGateway({ vars, fetch: hosts.fetch });
	const search = async (body: object, headers: Record<string, string> = {}) => {
		const response = await gateway.post("/websearch/", { ...IN_GATEWAY, ...body }, { headers });
		return { status: response.status, headers: response.headers, body: await response.json<SearchBody>() };
	};
	return { ...gateway, hosts, search };
}

describe("the answer", () => {
	const { search, hosts } = searchGateway();

	it("has the product's items without an envelope, from the first provider by default", async () => {
		const { status, body, headers } = await search({ query: "Durable Objects", limit: 2 });
		expect(status).toBe(200);
		expect(body).toEqual({
			items: [
				{
					url: "https://developers.cloudflare.com/durable-objects/",
					title: "Durable Objects",
					description: "A Durable Object has storage.\nIt is single-threaded.",
					imageUrl: "https://developers.cloudflare.com/do.png",
					faviconUrl: "https://developers.cloudflare.com/favicon.ico",
					lastModifiedDate: "2026-10-01T00:00:00.000Z",
				},
				{
					url: "https://example.com/untitled",
					title: "https://example.com/untitled",
					description: "A page without a title.",
				},
			],
			metadata: { query: "Durable Objects", requestId: headers.get("cf-ai-req-id"), latencyMs: 0 },
		});
		expect(hosts.requests.at(-1)).toMatchObject({
			url: "https://api.exa.ai/search",
			body: { query: "Durable Objects", type: "auto", numResults: 2, contents: { highlights: true } },
		});
		expect(headers.get("cf-aig-log-id")).toMatch(/^[0-9a-f-]{36}$/);
	});

	it.each([
		["linkup", { url: "https://example.org/a", title: "Linkup page", description: "Text of A" }],
		[
			"tavily",
			{
				url: "https://example.net/t",
				title: "Tavily page",
				description: "Text of T",
				faviconUrl: "https://example.net/f.ico",
				lastModifiedDate: "2026-11-01",
			},
		],
		[
			"brave",
			{
				url: "https://example.com/b",
				title: "Brave page",
				description: "Text of B",
				imageUrl: "https://imgs.search.brave.com/b.png",
				faviconUrl: "https://imgs.search.brave.com/f.ico",
				lastModifiedDate: "2026-11-20T00:00:00",
			},
		],
		["ceramic", { url: "https://example.com/c/1", title: "Ceramic page 1", description: "Text of C1" }],
		[
			"in-house",
			{
				url: "https://example.com/s",
				title: "SearXNG page",
				description: "Text of S",
				imageUrl: "https://example.com/s.png",
			},
		],
	])("of %s has the fields that it sends", async (provider, first) => {
		const { status, body } = await search({ query: "cats", provider, limit: 1 });
		expect([status, body.items]).toEqual([200, [first]]);
	});

	it("has ten items at most, and none if there is no page", async () => {
		const ceramic = await search({ query: `${"word ".repeat(60)}`, provider: "ceramic" });
		expect(ceramic.body.items).toHaveLength(10);
		const brave = await search({ query: "nothing", provider: "brave" });
		expect(brave.body.items).toEqual([]);
	});
});

describe("a failure", () => {
	const { search } = searchGateway();
	const failed = async (body: object) => {
		const { status, body: sent, headers } = await search({ query: "cats", ...body });
		const { code, category, retryable, status: repeated, gatewayRequestId, message } = sent.error;
		expect(sent).toEqual({ ok: false, error: expect.anything() });
		expect(repeated).toBe(status);
		expect(gatewayRequestId).toBe(headers.get("cf-aig-request-id"));
		expect(JSON.stringify(sent)).not.toContain("secret");
		return { status, code, category, retryable, message, retryAfter: headers.get("retry-after") };
	};

	it("of the provider has the product's code", async () => {
		expect(await failed({ query: "too fast", provider: "brave" })).toMatchObject({
			status: 429,
			code: "web_search_rate_limited",
			category: "rate_limit",
			retryable: true,
			retryAfter: "7",
		});
		expect(await failed({ query: "over the plan", provider: "tavily" })).toMatchObject({
			status: 429,
			code: "web_search_rate_limited",
		});
		expect(await failed({ provider: "html-only" })).toMatchObject({
			status: 503,
			code: "web_search_unavailable",
			message:
				"SearXNG answers 403 if its search.formats does not list json, or if its limiter refuses this gateway",
		});
		// Brave refuses a wrong key with 422.
		expect(await failed({ provider: "wrong-key" })).toMatchObject({
			status: 400,
			code: "invalid_web_search_input",
		});
	});

	it("of the provider is logged once, as that of the provider", async () => {
		const log = vi.fn<(error: AiError) => void>();
		const services = testServices({ vars: SEARCH_VARS, fetch: searchHosts().fetch });
		const app = createApp(replaceServices(services, { log }), OPEN_ACCESS);
		const body = { ...IN_GATEWAY, query: "too fast", provider: "brave" };
		const answered = await app.request(`${BASE}/websearch/`, json("POST", body));
		expect(answered.status).toBe(429);
		expect(log.mock.calls.map(([{ status, upstream }]) => ({ status, upstream }))).toMatchObject([
			{ status: 429, upstream: { backend: "brave", status: 429 } },
		]);
	});

	it("is 402 if nothing is set up, and 400 without the key of an alias", async () => {
		const bare = searchGateway({ DEFAULT_BACKEND: "" });
		const { status, body } = await bare.search({ query: "cats" });
		expect([status, body.error.code]).toEqual([402, "web_search_payment_required"]);
		expect(await failed({ provider: "exa", byokAlias: "team" })).toMatchObject({
			status: 400,
			code: "web_search_byok_not_configured",
		});
		// The address of a SearXNG is the operator's, so no account has a key for it.
		expect(await failed({ provider: "in-house", byokAlias: "team" })).toMatchObject({
			code: "web_search_byok_not_configured",
		});
	});

	it.each<[object, string, string]>([
		[{ query: "" }, "query", "expected one or more characters, found none"],
		[{}, "query", "expected text, found nothing"],
		[{ query: "x".repeat(1025) }, "query", "expected at most 1024 characters, found 1025"],
		[{ query: "cats", limit: 0 }, "limit", "expected at least 1, found 0"],
		[{ query: "cats", limit: 11 }, "limit", "expected at most 10, found 11"],
		[{ query: "cats", limit: 2.5 }, "limit", "expected a whole number, found 2.5"],
		[
			{ query: "cats", provider: "exaa" },
			"provider",
			'expected one of 9 names, found "exaa"; did you mean "exa"?',
		],
		[{ query: "cats", byokAlias: "a b" }, "byokAlias", "expected 1 to 64 letters, digits, _ or -"],
		[{ query: "cats", options: {} }, "options.gateway", "expected an object, found nothing"],
		[{ qury: "cats" }, "query", 'expected text, found nothing; qury: unknown; did you mean "query"?'],
	])("names the field of an invalid request: %j", async (sent, field, message) => {
		const { status, body } = await search(sent);
		expect([status, body.success, body.errors[0].code]).toEqual([400, false, 7000]);
		expect(body.messages).toEqual([{ path: field.split("."), message }]);
	});

	it("of an unknown gateway is 2001", async () => {
		const { search: searchIn, services } = searchGateway();
		services.gateways.find = async () => undefined;
		const { status, body } = await searchIn({ query: "cats" });
		expect([status, body.success, body.error[0].code]).toEqual([400, false, 2001]);
	});
});

it("uses the key that the gateway stores, and charges no neurons for it", async () => {
	const gateway = searchGateway({ DEFAULT_BACKEND: "", LIMITS: { daily_neurons: 1 } });
	const base = "http://gateway/client/v4/accounts/local/ai-gateway/gateways/default/provider_configs";
	const store = (body: object) =>
		gateway.app.request(base, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
	const stored = [
		{ provider_slug: "linkup", secret: "linkup-secret", default_config: true },
		{ provider_slug: "exa", alias: "team", secret: "exa-secret" },
		{ provider_slug: "exa", alias: "revoked", secret: "exa-former" },
	];
	for (const key of stored) expect((await store(key)).status).toBe(200);
	expect((await gateway.search({ query: "cats", provider: "linkup" })).body.items).toHaveLength(1);
	expect(
		(await gateway.search({ query: "cats", provider: "exa", byokAlias: "team" })).body.items,
	).toHaveLength(2);
	const revoked = await gateway.search({ query: "cats", provider: "exa", byokAlias: "revoked" });
	expect([revoked.status, revoked.body.error.code]).toEqual([401, "web_search_unauthorized"]);
	// No key of exa is the default one.
	expect((await gateway.search({ query: "cats", provider: "exa" })).status).toBe(402);
});

it("the simulator answers items that say what they are", async () => {
	const { search, hosts } = searchGateway({ DEFAULT_BACKEND: "simulator" });
	const { status, body, headers } = await search({ query: "cats", provider: "exa", limit: 2 });
	expect(status).toBe(200);
	expect(headers.get("x-ganglion-backend")).toBe("simulator");
	expect(body.items).toHaveLength(2);
	for (const { url, title, description } of body.items) {
		expect(new URL(url).hostname).toMatch(/\.invalid$/);
		expect(title).toContain("Simulated");
		expect(description).toContain("not a page of the web");
	}
	expect(hosts.requests).toEqual([]);
});

describe("the bill", () => {
	it("counts each search against the account's budget, and refuses the one beyond it", async () => {
		// Exa: $0.007 a search, at $0.011 for 1,000 neurons.
		const vars = { ...SEARCH_VARS, LIMITS: { daily_neurons: 1300 } };
		const { search, services } = searchGateway(vars);
		expect((await search({ query: "one" })).status).toBe(200);
		expect((await search({ query: "two" })).status).toBe(200);
		const refused = await search({ query: "three" });
		expect([refused.status, refused.body.error.code]).toEqual([429, "web_search_rate_limited"]);
		expect((await search({ query: "free", provider: "in-house" })).status).toBe(200);
		expect(services.webSearch?.providers.get("exa")?.model.prices).toEqual([
			{ unit: "per inference request", usd: 0.007, neurons: expect.closeTo(636.363636, 5) },
		]);
	});

	it("has no entry for a failed search", async () => {
		const vars = { ...SEARCH_VARS, LIMITS: { daily_neurons: 500 } };
		const { search } = searchGateway(vars);
		for (let i = 0; i < 3; i++)
			expect((await search({ query: "too fast", provider: "brave" })).body.error.code).toBe(
				"web_search_rate_limited",
			);
		expect((await search({ query: "cats", provider: "brave" })).status).toBe(200);
	});

	it("counts searches per minute", async () => {
		const { search } = searchGateway({
			...SEARCH_VARS,
			LIMITS: { requests_per_minute: { "Web Search": 1 } },
		});
		expect((await search({ query: "one" })).status).toBe(200);
		const { status, body } = await search({ query: "two" });
		expect([status, body.error.code, body.error.message]).toEqual([
			429,
			"web_search_rate_limited",
			expect.stringContaining("rate limiting"),
		]);
	});
});
