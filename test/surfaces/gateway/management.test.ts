/** The management API of gateways. */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { configure } from "../../../src/config/index.ts";
import { createPersistent } from "../../../src/persistent-services.ts";
import { servicesOf } from "../../../src/services.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { ADMIN, closedGateway, failureOf, json, tokenBody, V4 } from "../../http/access.ts";

const SETTINGS = {
	cache_ttl: 0,
	cache_invalidate_on_update: false,
	collect_logs: true,
	rate_limiting_interval: 60,
	rate_limiting_limit: 100,
};
const PATH = "/ai-gateway/gateways";

interface Page {
	result: { id: string }[];
	result_info: object;
}

describe("the management API", () => {
	const newGateways = ({
		anyGateway = false,
		publicUrl,
	}: {
		anyGateway?: boolean;
		publicUrl?: string;
	} = {}) => {
		const { services, account } = closedGateway();
		const config = configure({});
		const gatewayRules = { ...config.gatewayRules, anyGateway };
		const { gateways } = createPersistent(env, { ...config, gatewayRules });
		const served = { ...services, gateways, ...(publicUrl !== undefined && { publicUrl }) };
		const app = createApp(served, { allowAnonymous: false, adminToken: ADMIN });
		const send = async (path: string, init: RequestInit = {}) => {
			const headers = new Headers(init.headers);
			headers.set("authorization", `Bearer ${ADMIN}`);
			return app.request(`${V4}/accounts/${account}${PATH}${path}`, { ...init, headers });
		};
		const create = (id: string, fields: object = {}) =>
			send("", json("POST", { id, ...SETTINGS, ...fields }));
		const list = async (query: string) => (await send(`?${query}`)).json<Page>();
		return { app, send, create, list, gateways, account };
	};

	it("creates, shows, changes and deletes a gateway, and keeps fields that it does not know", async () => {
		const { create, send } = newGateways();
		const created = await (await create("mine", { zdr: true, future_field: { a: 1 } })).json<{
			result: object;
		}>();
		expect(created).toMatchObject({
			success: true,
			errors: [],
			result: { id: "mine", ...SETTINGS, zdr: true, future_field: { a: 1 }, is_default: false },
		});
		expect(await (await send("/mine")).json()).toMatchObject({ result: created.result });
		const changed = await send("/mine", json("PUT", { ...SETTINGS, cache_ttl: 300, other: [1] }));
		expect(await changed.json()).toMatchObject({
			result: { id: "mine", cache_ttl: 300, zdr: true, future_field: { a: 1 }, other: [1] },
		});
		expect(await (await send("/mine", { method: "DELETE" })).json()).toMatchObject({
			success: true,
			result: { id: "mine" },
		});
		expect(await failureOf(await send("/mine"))).toBe('404 7002: Gateway not found: "mine"');
	});

	it("applies a change to the next request", async () => {
		const { create, send, account } = newGateways();
		expect(await failureOf(await send("/mine/url/openai"))).toBe('404 7002: Gateway not found: "mine"');
		await create("mine");
		expect(await (await send("/mine/url/openai")).json()).toMatchObject({
			result: `http://gateway/v1/${account}/mine/openai`,
		});
		expect(await failureOf(await send("/mine/url/opnai"))).toBe(
			'400 2008: Invalid provider: "opnai" is unknown; did you mean "openai"?',
		);
		await send("/mine", { method: "DELETE" });
		expect((await send("/mine/url/openai")).status).toBe(404);
	});

	it("shows an address of a provider below PUBLIC_URL", async () => {
		const { create, send, account } = newGateways({ publicUrl: "https://ai.example.com" });
		await create("mine");
		expect(await (await send("/mine/url/openai")).json()).toMatchObject({
			result: `https://ai.example.com/v1/${account}/mine/openai`,
		});
	});

	it("names the gateway that a request with an unknown name probably means", async () => {
		const { account, app, create } = newGateways();
		await create("production");
		const messageFor = async (id: string) => {
			const response = await app.request(
				`${V4}/accounts/${account}/ai/run/@cf/meta/llama-3.1-8b-instruct-fp8`,
				{
					method: "POST",
					headers: { authorization: `Bearer ${ADMIN}`, "cf-aig-gateway-id": id },
					body: '{"prompt":"Hi"}',
				},
			);
			return failureOf(response);
		};
		const problem = "400 2001: Please configure AI Gateway: the account has no gateway";
		const cure = "POST …/ai-gateway/gateways creates one (docs/gateways.md)";
		expect(await messageFor("prodution")).toBe(`${problem} "prodution"; did you mean "production"? ${cure}`);
		expect(await messageFor("sales")).toBe(`${problem} "sales". ${cure}`);
	});

	it("names none that is only served, as each is in development", async () => {
		const { account, gateways, send } = newGateways({ anyGateway: true });
		expect(await gateways.find(account, "served")).toMatchObject({ id: "served" });
		for (const id of ["served", "serve"])
			expect(await failureOf(await send(`/${id}`))).toBe(`404 7002: Gateway not found: "${id}"`);
	});

	it.each([
		["of a developer", { ALLOW_ANONYMOUS: "true", ADMIN_TOKEN: ADMIN }, 1],
		["of the plugin", { AI_GATEWAY: { any_gateway: true } }, 1],
		["of a team, whose callers have tokens", { AI_GATEWAY: { any_gateway: true }, ADMIN_TOKEN: ADMIN }, 0],
	])(
		"serves a gateway that was not created, in a process %s, with %o: %i warning",
		async (_, vars, count) => {
			const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
			const { gateways, hint } = createPersistent(env, configure(vars));
			expect(await gateways.find(crypto.randomUUID(), "served")).toMatchObject({ id: "served" });
			const warnings = warn.mock.calls.length;
			warn.mockRestore();
			expect([warnings, hint ? 1 : 0]).toEqual([count, count]);
		},
	);

	it("lists in pages, sorted by id, with an empty page past the end", async () => {
		const { create, list } = newGateways();
		for (const id of ["b-two", "a-one", "b-one"]) await create(id);
		const first = await list("per_page=3");
		expect(first.result.map(({ id }) => id)).toEqual(["a-one", "b-one", "b-two"]);
		expect(first.result_info).toEqual({ page: 1, per_page: 3, count: 3, total_count: 4, total_pages: 2 });
		expect((await list("per_page=3&page=2")).result.map(({ id }) => id)).toEqual(["default"]);
		const past = await list("per_page=3&page=3");
		expect(past.result).toEqual([]);
		expect(past.result_info).toMatchObject({ page: 3, count: 0, total_count: 4 });
		expect((await list("search=one")).result.map(({ id }) => id)).toEqual(["a-one", "b-one"]);
		expect((await list("search=nothing")).result).toEqual([]);
	});

	it("has the default gateway, and resets it when it is deleted", async () => {
		const { send } = newGateways();
		const initial = await (await send("/default")).json();
		expect(initial).toMatchObject({ result: { id: "default", is_default: true, authentication: true } });
		expect((await send("/default", json("PUT", { ...SETTINGS, authentication: false }))).status).toBe(200);
		await send("/default", { method: "DELETE" });
		expect(await (await send("/default")).json()).toEqual(initial);
	});

	it.each([
		["no id", { id: undefined }, "id: expected text, found nothing"],
		[
			"an id that cannot be compared",
			{ id: { length: { toString: 1 } } },
			"id: expected text, found an object",
		],
		["an invalid id", { id: "a b" }, "id: expected 1 to 64 letters, digits, _ or -"],
		["a long id", { id: "a".repeat(65) }, "id: expected 1 to 64 letters, digits, _ or -"],
		["text for a flag", { collect_logs: "true" }, "collect_logs: expected true or false, found text"],
		["a negative limit", { rate_limiting_limit: -1 }, "rate_limiting_limit: expected at least 0, found -1"],
		["six retries", { retry_max_attempts: 6 }, "retry_max_attempts: expected at most 5, found 6"],
		["an id that exists", { id: "default-2" }, "id: a gateway with this id exists"],
	])("refuses %s with 7001", async (_, fields, message) => {
		const { create } = newGateways();
		await create("default-2");
		const failure = await failureOf(await create("mine", fields));
		expect(failure).toContain(`400 7001: ${message}`);
	});

	it.each<[object, string]>([
		[
			{ guardrails: { prompts: { S1: "BLOCK" } } },
			'guardrails.prompts: expected no such field; did you mean "prompt"?',
		],
		[
			{ spend_limits: { enabled: true, rules: [], rule: [] } },
			'spend_limits.rule: expected no such field; did you mean "rules"?',
		],
		[
			{
				spend_limits: {
					enabled: true,
					rules: [{ limitType: "cost", limit: 1, window: 60, tehcnique: "fixed" }],
				},
			},
			'spend_limits.rules[0].tehcnique: expected no such field; did you mean "technique"?',
		],
		[
			{
				spend_limits: {
					enabled: true,
					rules: [
						{ limitType: "cost", limit: 1, window: 60, model: { mode: "filter", values: ["a"], value: 1 } },
					],
				},
			},
			'spend_limits.rules[0].model.value: expected no such field; did you mean "values"?',
		],
		[
			{ dlp: { enabled: true, action: "BLOCK", profiles: ["email"], profile: ["email"] } },
			'dlp.profile: expected no such field; did you mean "profiles"?',
		],
		[
			{
				dlp: {
					enabled: true,
					policies: [{ id: "a", enabled: true, action: "BLOCK", check: ["REQUEST"], profiles: [], chek: [] }],
				},
			},
			'dlp.policies[0].chek: expected no such field; did you mean "check"?',
		],
		[{ dlp: { enabled: true, profiles: ["email"] } }, 'dlp.action: expected "FLAG" or "BLOCK", or policies'],
		[{ dlp: { enabled: true, action: "BLOCK" } }, "dlp.profiles: expected a list of profiles, or policies"],
		[
			{ dlp: { enabled: true, action: "BLOCK", profiles: ["email"], policies: [] } },
			"dlp.policies: expected either policies, or action and profiles",
		],
		[
			{ otel: [{ url: "https://collector.example", header: { a: "b" } }] },
			'otel[0].header: expected no such field; did you mean "headers"?',
		],
		[{ cache_ttl: 2_678_401 }, "cache_ttl: expected at most 2678400, found 2678401"],
		[
			{ rate_limiting_interval: 1e12 },
			"rate_limiting_interval: expected at most 31622400, found 1000000000000",
		],
		[{ log_management: 1e15 }, "log_management: expected at most 10000000, found 1000000000000000"],
		[
			{ spend_limits: { enabled: true, rules: [{ limitType: "cost", limit: 1, window: 1e9 }] } },
			"spend_limits.rules[0].window: expected at most 31622400, found 1000000000",
		],
	])("refuses a setting that would do something else: %j", async (fields, message) => {
		const { create, send } = newGateways();
		expect(await failureOf(await create("mine", fields))).toBe(`400 7001: ${message}`);
		expect((await send("/mine")).status).toBe(404);
		await create("mine");
		expect(await failureOf(await send("/mine", json("PUT", { ...SETTINGS, ...fields })))).toBe(
			`400 7001: ${message}`,
		);
	});

	it("creates a gateway from its id alone", async () => {
		const { send } = newGateways();
		expect(await (await send("", json("POST", { id: "mine" }))).json()).toMatchObject({
			success: true,
			messages: [],
			result: {
				id: "mine",
				cache_ttl: 0,
				cache_invalidate_on_update: false,
				collect_logs: true,
				rate_limiting_interval: 0,
				rate_limiting_limit: 0,
			},
		});
	});

	it("names stored settings that have no effect", async () => {
		const { create, send } = newGateways();
		const messagesOf = async (response: Response) =>
			(await response.json<{ messages: { code: number; message: string }[] }>()).messages;
		const fields = {
			guardrail: { prompt: { S1: "BLOCK" } },
			spend_limit: {},
			zdr: true,
			logpush: false,
			future: 1,
		};
		expect(await messagesOf(await create("mine", { ...fields, rate_limiting_interval: 0 }))).toEqual(
			[
				'guardrail: unknown, stored without effect; did you mean "guardrails"?',
				'spend_limit: unknown, stored without effect; did you mean "spend_limits"?',
				"zdr: stored, but it has no effect in this gateway",
				"future: unknown, stored without effect",
				"rate_limiting_limit: no effect, because rate_limiting_interval is 0",
			].map((message) => ({ code: 7001, message })),
		);
		const { result } = await (await send("/mine")).json<{ result: object }>();
		await send("/other", json("POST", { id: "other" }));
		expect(await messagesOf(await send("/default", json("PUT", SETTINGS)))).toEqual([]);
		expect((await messagesOf(await send("/mine", json("PUT", result)))).length).toBe(5);
	});

	it.each([
		["S1", { S1: "BLOCK" }, "@cf/meta/llama-guard-3-8b"],
		["P1", { P1: "FLAG" }, "@cf/meta/prompt-guard-2-86m"],
	])("refuses a guard whose model no route serves: %s", async (_, hazards, model) => {
		const { services, account } = closedGateway();
		const { routing } = servicesOf(configure({}), createPersistent(env, configure({})));
		const app = createApp({ ...services, routing }, { allowAnonymous: false, adminToken: ADMIN });
		const request = json("POST", { id: "mine", guardrails: { response: hazards } });
		const response = await app.request(`${V4}/accounts/${account}${PATH}`, {
			...request,
			headers: { ...request.headers, authorization: `Bearer ${ADMIN}` },
		});
		expect(await failureOf(response)).toBe(
			`400 7001: guardrails.response: no route serves the guard model ${model}: add it to ROUTES first`,
		);
	});

	it("removes a setting for which a client sends null", async () => {
		const { create, send } = newGateways();
		await create("mine", { authentication: false, byok_only: true, estimate_usage: true });
		const removed = { authentication: null, byok_only: null, estimate_usage: null };
		const changed = await send("/mine", json("PUT", { ...SETTINGS, ...removed }));
		expect(await changed.json()).toMatchObject({ success: true, result: removed });
		expect(await (await send("/mine")).json()).toMatchObject({ result: removed });
		expect(await (await create("other", removed)).json()).toMatchObject({ success: true, result: removed });
	});

	it("allows 100 gateways beside the default one, whose settings may be stored at any time", async () => {
		const { account, create, list, send } = newGateways();
		const registry = env.GATEWAYS.getByName(account);
		expect((await create("default")).status).toBe(200);
		for (let nth = 1; nth <= 100; nth++)
			expect(await registry.create(`g-${nth}`, SETTINGS)).toMatchObject({ ok: true });
		expect(await failureOf(await create("g-101"))).toBe(
			"400 7001: An account may have 100 gateways beside default",
		);
		expect((await list("per_page=101")).result.length).toBe(101);
		await send("/default", { method: "DELETE" });
		expect((await create("default")).status).toBe(200);
	});

	it("refuses an invalid query and an update of no gateway", async () => {
		const { create, send } = newGateways();
		await create("main");
		for (const query of ["page=0", "page=x", "per_page=102", "per_page=-1"])
			expect(await failureOf(await send(`?${query}`))).toContain("400 7001: ");
		expect(await failureOf(await send("/none", json("PUT", SETTINGS)))).toBe(
			'404 7002: Gateway not found: "none"',
		);
		expect(await failureOf(await send("/none", json("PUT", { ...SETTINGS, cache_ttl: "x" })))).toContain(
			"400 7001: cache_ttl: expected a number, found text",
		);
		const guardrails = { prompt: { S1: "BLOCK", S14: "BLOCK" } };
		expect(await failureOf(await send("/none", json("PUT", { ...SETTINGS, guardrails })))).toBe(
			"400 7001: guardrails.prompt.S14: expected the hazards S1 to S13 and P1",
		);
		for (const [path, init] of [
			["/mian", { method: "DELETE" }],
			["/mian", {}],
			["/mian/logs", {}],
			["/mian/cache/purge", { method: "POST" }],
		] as const)
			expect(await failureOf(await send(path, init))).toBe(
				'404 7002: Gateway not found: "mian"; did you mean "main"?',
			);
	});

	it("shows no secret, and keeps the secrets of settings that are written back", async () => {
		const { create, send, gateways, account } = newGateways();
		await create("mine");
		const otel = [
			{ url: "https://collector.example/v1/traces", authorization: "Bearer secret-1", headers: {} },
		];
		const written = await send("/mine", json("PUT", { ...SETTINGS, otel }));
		expect(await written.text()).not.toContain("secret-1");
		const { result } = await (await send("/mine")).json<{ result: object }>();
		expect(result).toMatchObject({ otel: [{ authorization: "[redacted]" }] });
		await send("/mine", json("PUT", result));
		expect(await gateways.find(account, "mine")).toMatchObject({ otel });
	});

	it.each([
		"http://collector.example/v1/traces",
		"https://10.0.0.1/v1/traces",
		"https://localhost/v1/traces",
	])("refuses the collector %s", async (url) => {
		const { create, send } = newGateways();
		await create("mine");
		const refused = await send("/mine", json("PUT", { ...SETTINGS, otel: [{ url }] }));
		expect(await failureOf(refused)).toMatch(
			/^400 7001: otel\[0\]\.url (?:does not begin|is not a public).* AI_GATEWAY\.allow_private_addresses$/,
		);
	});

	it("refuses headers that no collector can receive, and more than 10 collectors", async () => {
		const { create, send } = newGateways();
		await create("mine");
		const url = "https://collector.example/v1/traces";
		const put = async (otel: object[]) => failureOf(await send("/mine", json("PUT", { ...SETTINGS, otel })));
		expect(await put([{ url, headers: { "a b": "x" } }])).toBe(
			"400 7001: otel[0].headers: expected names of headers",
		);
		for (const [fields, name] of [
			[{ headers: { a: "x\ny" } }, "headers.a"],
			[{ authorization: "Bearer\nx" }, "authorization"],
		] as const)
			expect(await put([{ url, ...fields }])).toBe(
				`400 7001: otel[0].${name}: expected up to 8192 visible ASCII characters and spaces`,
			);
		expect(await put(Array.from({ length: 11 }, () => ({ url })))).toBe(
			"400 7001: otel: expected at most 10 items, found 11",
		);
	});

	it.each<[string, object, string]>([
		["an unknown profile", { profiles: ["none"] }, "none"],
		["a misspelled profile", { profiles: ["credit_cards"] }, '"credit_cards"; did you mean "credit_card"?'],
		["an exponential expression", { custom_profiles: { a: { pattern: "(a+)+$" } } }, "linear time"],
		["an exponential optional end", { custom_profiles: { a: { pattern: "x(?:(?:a+)+b)*" } } }, "linear time"],
		["a quadratic expression", { custom_profiles: { a: { pattern: "a*a*b" } } }, "linear time"],
		["an invalid expression", { custom_profiles: { a: { pattern: "(" } } }, "linear time"],
		["a second profile of a name", { custom_profiles: { email: { pattern: "x" } } }, "exists already"],
	])("refuses %s for data-loss prevention", async (_, fields, message) => {
		const { create, send } = newGateways();
		await create("mine");
		const dlp = { enabled: true, action: "BLOCK", profiles: ["email"], ...fields };
		const refused = await failureOf(await send("/mine", json("PUT", { ...SETTINGS, dlp })));
		expect(refused).toMatch(/^400 7001: /);
		expect(refused).toContain(message);
		const own = { profiles: ["employee"], custom_profiles: { employee: { pattern: "\\bE-\\d{6}\\b" } } };
		const accepted = await send("/mine", json("PUT", { ...SETTINGS, dlp: { ...dlp, ...own } }));
		expect(accepted.status).toBe(200);
	});

	it("keeps the gateways of accounts apart", async () => {
		const [one, other] = [newGateways(), newGateways()];
		await one.create("mine");
		expect((await other.send("/mine")).status).toBe(404);
		expect((await other.list("search=mine")).result).toEqual([]);
	});
});

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const ROUTE_ELEMENTS = [
	{ id: "start", type: "start", outputs: { next: { elementId: "end" } } },
	{ id: "end", type: "end", outputs: {}, positoin: 1 },
];
const PROVIDER = { name: "Ours", base_url: "https://models.example.com/v1" };
const ALIAS = { name: "quick", models: [LLAMA] };

/** A route that stores an object, a valid body, and what happens to an unknown field. */
type Case = [route: string, body: object, unknown: "refused" | "ignored" | "stored without effect"];

describe("a stored object with an unknown field", () => {
	const MAX_BODY = 100_000;
	const { account, send } = closedGateway({
		vars: { DEFAULT_BACKEND: "simulator", LIMITS: { json_bytes: MAX_BODY } },
	});
	const ids: Record<string, string> = { gateway: "mine", alias: "fast" };
	const gateway = "/ai-gateway/gateways/:gateway";
	const token = tokenBody(account, ["Workers AI Run"]);
	const CASES: readonly Case[] = [
		["POST /ai-gateway/gateways", { id: "second" }, "stored without effect"],
		[`PUT ${gateway}`, SETTINGS, "stored without effect"],
		["POST /ai-gateway/custom-providers", { ...PROVIDER, slug: "second" }, "ignored"],
		["PATCH /ai-gateway/custom-providers/:custom_provider", { enable: true }, "ignored"],
		[`POST ${gateway}/provider_configs`, { provider_slug: "openai", secret: "sk-example" }, "ignored"],
		[`POST ${gateway}/aliases`, ALIAS, "ignored"],
		[`PUT ${gateway}/aliases/:alias`, { models: [LLAMA] }, "ignored"],
		[`POST ${gateway}/routes`, { name: "second", elements: ROUTE_ELEMENTS }, "ignored"],
		[`PATCH ${gateway}/routes/:route`, { name: "third" }, "ignored"],
		[`POST ${gateway}/routes/:route/versions`, { elements: ROUTE_ELEMENTS }, "ignored"],
		[`POST ${gateway}/routes/:route/deployments`, { version_id: "" }, "ignored"],
		[`PATCH ${gateway}/logs/:log`, { feedback: 1 }, "ignored"],
		[`POST ${gateway}/replay`, { model: LLAMA }, "refused"],
		[
			"POST /ai/finetunes",
			{ model: "@cf/mistral/mistral-7b-instruct-v0.2-lora", name: "ours", description: "" },
			"ignored",
		],
		["PUT /ai/aliases/:alias{.+}", { model: LLAMA }, "refused"],
		["PUT /ai/bound-gateway", { id: "mine", mode: "default" }, "refused"],
		["PUT /ai/place", { object: "own" }, "refused"],
		["POST /tokens", token, "refused"],
		["PUT /tokens/:token", token, "refused"],
	];

	const post = async (path: string, body: object): Promise<{ id: string; version: { version_id: string } }> =>
		(await (await send(path, ADMIN, json("POST", body))).json<{ result: never }>()).result;
	const answerTo = async (method: string, path: string, body: object) => {
		const response = await send(path, ADMIN, json(method, body));
		const answer = await response.json<Record<"errors" | "messages", { message: string }[]>>();
		const messages = (response.ok ? answer.messages : answer.errors)?.map(({ message }) => message) ?? [];
		return { status: response.status, messages };
	};

	beforeAll(async () => {
		const mine = "/ai-gateway/gateways/mine";
		await post("/ai-gateway/gateways", { id: "mine" });
		await post(`${mine}/aliases`, { ...ALIAS, name: "fast" });
		const provider = await post("/ai-gateway/custom-providers", { ...PROVIDER, slug: "ours" });
		const { id, version } = await post(`${mine}/routes`, { name: "fast", elements: ROUTE_ELEMENTS });
		const run = json("POST", { prompt: "Hello" });
		const ran = await send(`/ai/run/${LLAMA}`, ADMIN, {
			...run,
			headers: { ...run.headers, "cf-aig-gateway-id": "mine" },
		});
		const log = ran.headers.get("cf-aig-log-id") ?? "";
		await vi.waitFor(async () => expect((await send(`${mine}/logs/${log}`, ADMIN)).status).toBe(200));
		Object.assign(ids, {
			custom_provider: provider.id,
			...{ route: id, version: version.version_id, log },
			token: (await post("/tokens", token)).id,
		});
	});

	it("is one of these, by each route that stores one for an account", () => {
		const base = "/client/v4/accounts/:account";
		const storing = ROUTES.filter(
			({ input, path, permission }) =>
				// A form stores a file.
				input &&
				input.type !== "multipart/form-data" &&
				path.startsWith(base) &&
				/^(?:operator|write|gateways-write|tokens-write)$/.test(permission),
		);
		expect(storing.map(({ method, path }) => `${method} ${path.slice(base.length)}`).sort()).toEqual(
			CASES.map(([route]) => route).sort(),
		);
	});

	it.each(CASES)("%s", async (route, body, unknown) => {
		const [method = "", pattern = ""] = route.split(" ");
		const path = pattern.replace(/:(\w+)(?:\{\.\+\})?/g, (_, name: string) => ids[name] ?? "");
		const sent = { ...body, ...("version_id" in body && { version_id: ids.version }) };
		const [known = ""] = Object.keys(body);
		const { status, messages } = await answerTo(method, path, { ...sent, [`${known}_`]: 1, zzqq: 1 });
		const hint = `; did you mean "${known}"?`;
		if (unknown === "refused") {
			expect(status).toBe(400);
			expect(messages[0]).toContain(`${known}_: expected no such field${hint}; zzqq: expected no such field`);
			return;
		}
		expect([status, messages]).toEqual([
			200,
			[
				`${known}_: unknown, ${unknown}${hint}`,
				`zzqq: unknown, ${unknown}`,
				...("elements" in body ? ["elements[1].positoin: unknown, stored without effect"] : []),
			],
		]);
	});

	it("is too large in a body above its bound, by each route", async () => {
		const body = JSON.stringify({ padding: "x".repeat(MAX_BODY) });
		const statuses = await Promise.all(
			CASES.map(async ([route]) => {
				const [method = "", pattern = ""] = route.split(" ");
				const path = pattern.replace(/:(\w+)(?:\{\.\+\})?/g, (_, name: string) => ids[name] ?? "");
				return [route, (await send(path, ADMIN, { ...json(method, {}), body })).status];
			}),
		);
		expect(statuses).toEqual(CASES.map(([route]) => [route, 413]));
	});

	it("is refused in an object of a token, whose list of groups a client may send back", async () => {
		const [policy] = token.policies;
		const policies = (fields: object, group: object) => [
			{ ...policy, ...fields, permission_groups: [{ name: "Workers AI Run", ...group }] },
		];
		for (const [fields, group, message] of [
			[{ resource: {} }, {}, 'policies[0].resource: expected no such field; did you mean "resources"?'],
			[
				{},
				{ nmae: "" },
				'policies[0].permission_groups[0].nmae: expected no such field; did you mean "name"?',
			],
		] as const)
			expect(await answerTo("POST", "/tokens", { ...token, policies: policies(fields, group) })).toEqual({
				status: 400,
				messages: [message],
			});
		const written = { ...token, policies: policies({}, { meta: { key: "scopes", value: "" } }) };
		expect((await answerTo("POST", "/tokens", written)).status).toBe(200);
	});

	it("has an id, which the refusal of its name has", async () => {
		const refused = async (method: string, path: string) =>
			failureOf(await send(path, ADMIN, json(method, {})));
		const provider = `Custom provider not found: "our"; the id of "ours" is "${ids.custom_provider}"`;
		for (const method of ["PATCH", "DELETE"])
			expect(await refused(method, "/ai-gateway/custom-providers/our")).toBe(`404 7002: ${provider}`);
		const keys = "/ai-gateway/gateways/mine/provider_configs";
		const { id } = await post(keys, { provider_slug: "openai", alias: "production", secret: "sk-example" });
		expect(await refused("DELETE", `${keys}/production`)).toBe(
			`404 7002: Provider key not found: "production"; the id of "production" is "${id}"`,
		);
		expect(await refused("DELETE", `${keys}/none`)).toBe('404 7002: Provider key not found: "none"');
	});

	it("has a slug, and a misspelled one is refused with the one that is meant", async () => {
		const misspelled = { provider_slug: "opnai", secret: "sk-example" };
		const path = "/ai-gateway/gateways/mine/provider_configs";
		expect(await failureOf(await send(path, ADMIN, json("POST", misspelled)))).toMatch(
			/^400 \d+: provider_slug: expected a provider's slug or custom-\{slug\}, found "opnai"; did you mean "openai"\?$/,
		);
	});

	it("names a field that the request cannot change, but none that is written back as it was read", async () => {
		const path = `/ai-gateway/custom-providers/${ids.custom_provider}`;
		const { result } = await (await send(path, ADMIN)).json<{ result: object }>();
		expect(await answerTo("PATCH", path, { ...result, logo: null })).toEqual({ status: 200, messages: [] });
		expect(await answerTo("PATCH", path, { slug: "theirs", beta: null, url: null })).toMatchObject({
			status: 400,
		});
		expect(await answerTo("PATCH", path, { slug: "theirs", url: null })).toEqual({
			status: 200,
			messages: ["slug: ignored, because this request cannot change it"],
		});
	});
});

describe("lists of custom providers", () => {
	afterEach(() => vi.useRealTimers());

	const found = async (query: string) => {
		const { send } = closedGateway();
		// The object takes its times from the runtime. Providers of the same millisecond would be in the order of their slugs.
		vi.useFakeTimers({ toFake: ["Date"] });
		for (const [slug, name] of [
			["b", "Second"],
			["a", "Third"],
			["c", "First"],
		]) {
			vi.setSystemTime(Date.now() + 1_000);
			const fields = { slug, name, base_url: "https://models.example.com/v1" };
			await send("/ai-gateway/custom-providers", ADMIN, json("POST", fields));
		}
		const response = await send(`/ai-gateway/custom-providers?${query}`, ADMIN);
		const { result, errors } = await response.json<{ result: { slug: string }[]; errors: object[] }>();
		return response.ok ? result.map(({ slug }) => slug).join("") : errors;
	};

	it.each([
		["", "abc"],
		["order_by=name", "cba"],
		["order_by=created_at", "bac"],
		["order_by=created_at&order_by_direction=desc", "cab"],
		["order_by=created_at&per_page=2&page=2", "c"],
		["search=Thi", "a"],
		["search=tHI", "a"],
	])("%s: %s", async (query, slugs) => {
		expect(await found(query)).toBe(slugs);
	});

	it("refuse an order that they do not have", async () => {
		const message = 'order_by: expected "slug", "name", "created_at" or "modified_at", found "beta"';
		expect(await found("order_by=beta")).toMatchObject([{ code: 7001, message }]);
	});
});

describe("updates of a custom provider at the same time", () => {
	it("never send its hidden header to another address", async () => {
		const { account, send, services } = closedGateway();
		const [own, other] = ["https://models.example.com/v1", "https://other.example.com/v1"];
		const hidden = { headers: { "x-secret": "[redacted]" } };
		const path = "/ai-gateway/custom-providers";
		const fields = {
			name: "Ours",
			slug: "ours",
			base_url: own,
			headers: { "x-secret": "top" },
			enable: true,
		};
		const moved: object[] = [];
		for (let round = 0; round < 10; round++) {
			const made = await send(path, ADMIN, json("POST", fields));
			const { id } = (await made.json<{ result: { id: string } }>()).result;
			const patch = (body: object) => send(`${path}/${id}`, ADMIN, json("PATCH", body));
			const stored = async () =>
				(await services.providerAccesses.of(account).customProviders()).map(({ base_url, headers }) => ({
					base_url,
					headers,
				}));
			const states = await Promise.all([
				patch(hidden).then(stored),
				patch({ base_url: other, ...hidden }).then(stored),
				patch({ base_url: own, ...hidden }).then(stored),
				patch({ base_url: other }).then(stored),
				(round % 2 ? send(`${path}/${id}`, ADMIN, { method: "DELETE" }) : patch(hidden)).then(stored),
			]);
			moved.push(...states.flat().filter(({ base_url }) => base_url === other));
			await send(`${path}/${id}`, ADMIN, { method: "DELETE" });
		}
		expect(moved.length).toBeGreaterThan(0);
		expect(JSON.stringify(moved)).not.toContain("top");
	});
});
