/** Public endpoints of AI Search: developers.cloudflare.com/ai-search/configuration/public-endpoint. */
import { describe, expect, it, vi } from "vitest";
import type { DirectoryCache } from "../../../src/accounts/client/directory-cache.ts";
import { searchApi } from "./api.ts";

const QUERY = { query: "reset password" };

async function publicApi(params: object = { enabled: true }) {
	const api = searchApi();
	// The account exists since its first token. Without credentials it is recorded here.
	await (api.services.directory as DirectoryCache).record("local");
	const { result } = await api.create("docs", { public_endpoint_params: params });
	await api.upload("passwords.md", "# Passwords\n\nTo reset a password, open the settings page.");
	const id: string = result.public_endpoint_id;
	const address = (path: string, endpoint = id, account = "local") =>
		`http://gateway/search/${account}/${endpoint}${path}`;
	const send = (
		path: string,
		body?: unknown,
		headers: Record<string, string> = {},
		method = "POST",
		endpoint = id,
		account = "local",
	) =>
		api.app.request(address(path, endpoint, account), {
			method,
			headers: { "content-type": "application/json", ...headers },
			...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
		});
	const failure = async (...sent: Parameters<typeof send>) => {
		const response = await send(...sent);
		const { errors } = await response.json<{ errors: { code: number; message: string }[] }>();
		return [response.status, errors[0]?.code, errors[0]?.message];
	};
	return { ...api, id, send, failure };
}

describe("a public endpoint", () => {
	it("is off unless the instance switches it on", async () => {
		const api = await publicApi({});
		expect((await api.get("/instances/docs")).result.public_endpoint_id).toBeNull();
		const { object } = (await api.services.searchInstances.find("local", "default", "docs")) ?? {
			object: "",
		};
		const id = object.slice(object.lastIndexOf("/") + 1);
		expect(await api.failure("/search", QUERY, {}, "POST", id)).toEqual([
			404,
			60_004,
			"ai search not enabled",
		]);
		await api.put("/instances/docs", { public_endpoint_params: { enabled: true } });
		expect((await api.send("/search", QUERY, {}, "POST", id)).status).toBe(200);
		await api.put("/instances/docs", { public_endpoint_params: { enabled: false } });
		expect(await api.failure("/search", QUERY, {}, "POST", id)).toEqual([
			404,
			60_004,
			"ai search not enabled",
		]);
	});

	it("searches, chats and streams without a credential", async () => {
		const api = await publicApi();
		const found = await api.send("/search", QUERY);
		expect(await found.json()).toMatchObject({
			success: true,
			result: { chunks: [{ item: { key: "passwords.md" } }] },
		});
		const messages = [{ role: "user", content: "How do I reset a password?" }];
		const answer = await api.send("/chat/completions", { messages });
		expect(await answer.json()).toMatchObject({
			object: "chat.completion",
			chunks: [{ item: { key: "passwords.md" } }],
		});
		const stream = await api.send("/chat/completions", { messages, stream: true });
		expect((await stream.text()).startsWith("event: chunks\n")).toBe(true);
	});

	it("names no model, tool or prompt for its caller", async () => {
		const api = await publicApi();
		const response = await api.send("/chat/completions", {
			messages: [{ role: "user", content: "How do I reset a password?" }],
			model: "@cf/openai/gpt-oss-120b",
			max_tokens: 100_000,
			tools: [{ type: "function", function: { name: "f", parameters: {} } }],
			ai_search_options: {
				query_rewrite: { enabled: true, model: "@cf/x" },
				reranking: { enabled: true, model: "@cf/x" },
			},
		});
		expect(await response.json()).toMatchObject({ model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" });
	});

	it("shares no cached answer with the callers of the account", async () => {
		const api = await publicApi();
		const body = { messages: [{ role: "user", content: "reset a password" }] };
		const statusOf = (response: Response) => response.headers.get("cf-aig-cache-status");
		expect(statusOf(await api.send("/chat/completions", body))).toBe("MISS");
		expect(statusOf(await api.send("/chat/completions", body))).toBe("HIT");
		const own = await api.app.request(
			"http://gateway/client/v4/accounts/local/ai-search/instances/docs/chat/completions",
			{
				...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
			},
		);
		expect(statusOf(own)).toBe("MISS");
	});

	it("serves MCP, and only by POST", async () => {
		const api = await publicApi({ enabled: true, mcp: { description: "Searches the manuals" } });
		const accept = { accept: "application/json, text/event-stream" };
		const initialize = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
		const listed = await api.send("/mcp", initialize, accept);
		expect(await listed.text()).toContain("Searches the manuals");
		const clientInfo = { name: "a client", version: "1" };
		const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
		const begun = await api.send("/mcp", { jsonrpc: "2.0", id: 2, method: "initialize", params }, accept);
		// The tool does not change, and nobody can subscribe to its changes.
		expect(await begun.text()).toContain('"capabilities":{"tools":{"listChanged":false}}');
		for (const method of ["GET", "DELETE"])
			expect(await api.failure("/mcp", undefined, {}, method)).toEqual([
				405,
				60_016,
				"method not allowed; this MCP endpoint only accepts POST",
			]);
	});

	it("has parts that are disabled one by one", async () => {
		const off = { disabled: true };
		const api = await publicApi({
			enabled: true,
			search_endpoint: off,
			chat_completions_endpoint: off,
			mcp: off,
		});
		expect(await api.failure("/search", QUERY)).toEqual([401, 60_008, "search endpoint disabled"]);
		expect(await api.failure("/chat/completions", {})).toEqual([
			401,
			60_009,
			"chat completions endpoint disabled",
		]);
		expect(await api.failure("/mcp", {})).toEqual([401, 60_007, "mcp endpoint disabled"]);
	});

	it("has no domains besides its path, with the product's codes", async () => {
		const api = await publicApi();
		const { result } = await api.get("/instances/docs");
		const domains = { custom_domains: [], default_domain_enabled: true };
		expect(result.public_endpoint_params).toMatchObject({ enabled: true, ...domains });
		const put = async (public_endpoint_params: object) =>
			(await api.put("/instances/docs", { public_endpoint_params })).errors[0];
		const custom_domains = ["search.example.com"];
		expect(await put({ enabled: true, custom_domains })).toEqual({
			code: 7090,
			message:
				"custom_domain_not_a_verified_zone_on_this_account: a proxy of the host can forward to the endpoint",
		});
		expect(await put({ enabled: false, custom_domains })).toEqual({
			code: 7093,
			message: "custom_domains_require_an_active_public_endpoint",
		});
		expect(await put({ enabled: true, default_domain_enabled: false })).toEqual({
			code: 7096,
			message: "disabling_the_default_domain_requires_at_least_one_custom_domain",
		});
		// What an answer shows can be sent back.
		expect(await put({ ...result.public_endpoint_params, custom_domains: null })).toBeUndefined();
		expect(await put(result.public_endpoint_params)).toBeUndefined();
	});

	it("refuses the scripts and statistics of the product's components with a reason", async () => {
		const api = await publicApi({ enabled: true, authorized_hosts: ["localhost:5173"] });
		const page = "http://localhost:5173";
		const script = "/assets/v0.0.42/search-snippet.es.js";
		const reason = "take the components from the npm package @cloudflare/ai-search-snippet";
		expect(await api.failure(script, undefined, {}, "GET")).toEqual([
			...[404, 60_006, `endpoint not found: ${reason}`],
		]);
		expect(await api.failure("/stats", { events: [] })).toEqual([
			...[404, 60_006, "endpoint not found: no statistics of pages are kept"],
		]);
		const sent = await api.send("/stats", {}, { origin: page });
		expect([sent.status, sent.headers.get("access-control-allow-origin")]).toEqual([404, page]);
		const preflight = await api.send("/search", undefined, { origin: page }, "OPTIONS");
		// The components send this header.
		expect(preflight.headers.get("access-control-allow-headers")).toContain("cf-ai-search-source");
	});

	it("does not tell which accounts and instances exist", async () => {
		const api = await publicApi();
		const unknown = [404, 60_003, "config not found"];
		const other = crypto.randomUUID();
		expect(await api.failure("/search", QUERY, {}, "POST", other)).toEqual(unknown);
		expect(await api.failure("/search", QUERY, {}, "POST", api.id, "nobody-has-this")).toEqual(unknown);
		for (const id of ["docs", "..", "a%00b", "x".repeat(2_000)])
			expect((await api.failure("/search", QUERY, {}, "POST", encodeURIComponent(id)))[0]).toBeOneOf([
				400, 404,
			]);
	});

	it("refuses bodies that are no object or too large, before a model runs", async () => {
		const api = await publicApi();
		expect(await api.failure("/search", [])).toEqual([400, 60_015, "request body must be a JSON object"]);
		expect((await api.failure("/search", "{")).slice(0, 2)).toEqual([400, 1001]);
		expect((await api.failure("/search", { query: "x".repeat(70_000) }))[0]).toBe(413);
		expect((await api.failure("/search", { query: "" }))[1]).toBe(7039);
	});

	it("limits the rate, also of refused requests, by its period", async () => {
		const api = await publicApi({ enabled: true, rate_limit: { requests: 3, period_ms: 60_000 } });
		expect((await api.send("/search", QUERY)).status).toBe(200);
		await api.send("/search", "{");
		expect((await api.send("/search", QUERY)).status).toBe(200);
		const limited = await api.send("/search", QUERY);
		expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "60"]);
		expect(await api.failure("/search", QUERY)).toEqual([429, 60_005, "rate limited"]);
	});

	it("is called by pages of authorized hosts only", async () => {
		const api = await publicApi({ enabled: true, authorized_hosts: ["docs.example.com", "localhost:5173"] });
		const page = await api.send("/search", QUERY, { origin: "http://localhost:5173" });
		expect([page.status, page.headers.get("access-control-allow-origin"), page.headers.get("vary")]).toEqual([
			200,
			"http://localhost:5173",
			"Origin",
		]);
		const preflight = await api.send(
			"/search",
			undefined,
			{ origin: "http://localhost:5173", "access-control-request-method": "POST" },
			"OPTIONS",
		);
		expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([204, "POST"]);
		expect(preflight.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
		for (const origin of ["http://localhost:9999", "null"]) {
			const refused = await api.send("/search", QUERY, { origin });
			expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
		}
		expect((await api.send("/search", QUERY)).headers.get("access-control-allow-origin")).toBeNull();
	});

	it("refuses settings that are not the product's", async () => {
		const api = await publicApi();
		for (const params of [
			{ authorized_hosts: ["https://a.example/docs"] },
			{ rate_limit: { requests: 0 } },
			{ rate_limit: { technique: "none" } },
		])
			expect((await api.put("/instances/docs", { public_endpoint_params: params })).errors[0]).toMatchObject({
				code: 1001,
				message: expect.stringContaining("public_endpoint_params"),
			});
		// It is replaced whole.
		await api.put("/instances/docs", { public_endpoint_params: { enabled: true, mcp: { disabled: true } } });
		await api.put("/instances/docs", { public_endpoint_params: { enabled: true } });
		expect((await api.get("/instances/docs")).result.public_endpoint_params.mcp.disabled).toBe(false);
	});
});

describe("the public endpoint of a namespace", () => {
	async function namespaceApi(params: object) {
		const api = searchApi();
		await (api.services.directory as DirectoryCache).record("local");
		await api.post("/namespaces", { name: "shop" });
		for (const [id, text] of Object.entries({
			docs: "To reset a password, open the settings page.",
			staff: "To reset a password of a customer, open the console.",
			bills: "To reset a password, write a letter.",
		})) {
			const created = await api.post("/namespaces/shop/instances", { id });
			expect(created.status).toBe(200);
			const form = new FormData();
			form.set("file", new File([text], `${id}.md`));
			form.set("wait_for_completion", "true");
			const uploaded = await api.send("POST", `/namespaces/shop/instances/${id}/items`, form);
			expect(await uploaded.json()).toMatchObject({ result: { status: "completed" } });
		}
		const changed = await api.put("/namespaces/shop", { public_endpoint_params: params });
		const id: string = changed.result?.public_endpoint_id;
		const send = (path: string, body: unknown, headers: Record<string, string> = {}) =>
			api.app.request(`http://gateway/search/local/ns-${id}${path}`, {
				...{ method: "POST", headers: { "content-type": "application/json", ...headers } },
				body: JSON.stringify(body),
			});
		const failure = async (path: string, body: unknown) => {
			const response = await send(path, body);
			const { errors } = await response.json<{ errors: { code: number; message: string }[] }>();
			return [response.status, errors[0]?.code, errors[0]?.message];
		};
		return { ...api, changed, id, send, failure };
	}
	const keysOf = async (response: Response): Promise<string[]> => {
		const { chunks, result } = await response.json<{
			chunks?: { item: { key: string } }[];
			result?: { chunks: { item: { key: string } }[] };
		}>();
		return (chunks ?? result?.chunks ?? []).map(({ item }) => item.key).sort();
	};
	const ON = { enabled: true, instances_allowed: ["docs", "bills"] };
	const MESSAGES = { messages: [{ role: "user", content: "How do I reset a password?" }] };

	it("searches the instances of its list, and of those the ones that a request names", async () => {
		const api = await namespaceApi(ON);
		expect(api.changed.result).toMatchObject({ name: "shop", public_endpoint_params: ON });
		expect(await keysOf(await api.send("/search", QUERY))).toEqual(["bills.md", "docs.md"]);
		const named = (...ids: unknown[]) => ({ ...QUERY, ai_search_options: { instance_ids: ids } });
		expect(await keysOf(await api.send("/search", named("docs")))).toEqual(["docs.md"]);
		for (const ids of [["staff"], ["docs", "staff"], ["none"]])
			expect(await api.failure("/search", named(...ids))).toEqual([404, 60_013, "ai_search_not_found"]);
		for (const instance_ids of [[7], [], "docs", ["docs", null], {}])
			expect(await api.failure("/search", { ...QUERY, ai_search_options: { instance_ids } })).toEqual([
				...[400, 60_012, "invalid ai_search_options.instance_ids"],
			]);
		const all = await api.send("/search", { ...QUERY, ai_search_options: { instance_ids: null } });
		expect(await keysOf(all)).toEqual(["bills.md", "docs.md"]);
		expect(await api.failure("/chat/completions", { ...MESSAGES, ...named("staff") })).toEqual([
			...[404, 60_013, "ai_search_not_found"],
		]);
	});

	it("has no domains, scripts and statistics", async () => {
		const api = await namespaceApi(ON);
		expect(api.changed.result.public_endpoint_params).toMatchObject({
			...{ custom_domains: [], default_domain_enabled: true },
		});
		const params = { ...ON, custom_domains: ["search.example.com"] };
		expect((await api.put("/namespaces/shop", { public_endpoint_params: params })).errors[0]?.code).toBe(
			7090,
		);
		const message = "path not supported for namespace-kind hash: no statistics of pages are kept";
		expect(await api.failure("/stats", {})).toEqual([404, 60_014, message]);
	});

	it("looks up each instance once, however often a request names it", async () => {
		const api = await namespaceApi(ON);
		const find = vi.spyOn(api.services.searchInstances, "find");
		const instance_ids = new Array(5_000).fill("docs");
		expect(
			await keysOf(await api.send("/search", { ...QUERY, ai_search_options: { instance_ids } })),
		).toEqual(["docs.md"]);
		expect(find.mock.calls.length).toBeLessThanOrEqual(2);
	});

	it("chats, and serves MCP", async () => {
		const api = await namespaceApi({ ...ON, mcp: { description: "Searches the shop" } });
		expect(await keysOf(await api.send("/chat/completions", MESSAGES))).toEqual(["bills.md", "docs.md"]);
		const stream = await api.send("/chat/completions", { ...MESSAGES, stream: true });
		expect((await stream.text()).startsWith("event: chunks\n")).toBe(true);
		const accept = { accept: "application/json, text/event-stream" };
		const rpc = async (method: string, params: object) =>
			(await api.send("/mcp", { jsonrpc: "2.0", id: 1, method, params }, accept)).text();
		expect(await rpc("tools/list", {})).toContain("Searches the shop");
		const called = await rpc("tools/call", { name: "search", arguments: QUERY });
		expect(called).toContain("bills.md");
		expect(called).not.toContain("staff.md");
	});

	it("is off without its setting, for a namespace without it, and by the id of an instance", async () => {
		const api = await namespaceApi(ON);
		const { id } = api;
		await api.put("/namespaces/shop", { public_endpoint_params: { ...ON, enabled: false } });
		expect(await api.failure("/search", QUERY)).toEqual([404, 60_004, "ai search not enabled"]);
		expect((await api.get("/namespaces/shop")).result.public_endpoint_id).toBeNull();
		// It keeps its address.
		const again = await api.put("/namespaces/shop", { public_endpoint_params: ON });
		expect(again.result.public_endpoint_id).toBe(id);
		for (const address of [id, `ns-${crypto.randomUUID()}`, `ns-ns-${id}`]) {
			const response = await api.app.request(`http://gateway/search/local/${address}/search`, {
				...{ method: "POST", body: JSON.stringify(QUERY) },
			});
			expect(response.status).toBe(404);
		}
		await api.put("/namespaces/shop", { public_endpoint_params: null });
		expect(await api.failure("/search", QUERY)).toEqual([404, 60_004, "ai search not enabled"]);
	});

	it("names only instances that exist, and goes on without those that are deleted", async () => {
		const api = await namespaceApi({ enabled: true, instances_allowed: ["docs", "none"] });
		expect(api.changed.errors[0]).toMatchObject({
			...{ code: 7097, message: "instances_allowed_contains_unknown_instances" },
		});
		const { result } = await api.put("/namespaces/shop", {
			description: "Of the shop",
			public_endpoint_params: ON,
		});
		const search = async () =>
			api.app.request(`http://gateway/search/local/ns-${result.public_endpoint_id}/search`, {
				...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(QUERY) },
			});
		expect((await api.delete("/namespaces/shop/instances/docs")).status).toBe(200);
		expect(await keysOf(await search())).toEqual(["bills.md"]);
		expect((await api.delete("/namespaces/shop/instances/bills")).status).toBe(200);
		expect((await search()).status).toBe(404);
		// A change of one field keeps the others.
		const described = await api.put("/namespaces/shop", { public_endpoint_params: { enabled: false } });
		expect(described.result.description).toBe("Of the shop");
		expect((await api.put("/namespaces/shop", { description: null })).result).toMatchObject({
			...{ description: null, public_endpoint_params: { enabled: false } },
		});
		expect((await api.put("/namespaces/default", { public_endpoint_params: ON })).errors[0]).toMatchObject({
			code: 7065,
		});
	});

	it("limits the rate of all its instances together", async () => {
		const api = await namespaceApi({ ...ON, rate_limit: { requests: 2, period_ms: 60_000 } });
		for (let request = 0; request < 2; request++) expect((await api.send("/search", QUERY)).status).toBe(200);
		expect(await api.failure("/search", QUERY)).toEqual([429, 60_005, "rate limited"]);
	});
});
