/** Rate limits and spend rules of gateways. */
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { GatewayLimits } from "../../../src/gateways/client/gateway-limits.ts";
import { Gateways } from "../../../src/gateways/client/gateways.ts";
import { DEFAULT_SETTINGS, type GatewayUpdate } from "../../../src/gateways/settings.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { newAccount } from "../../accounts/fixtures.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";
import { json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
/** The beginning of a minute. */
const T0 = Date.parse("2026-11-21T12:00:00Z");
/** An answer costs 3 + 2 dollars. */
const COST = { "cf-aig-custom-cost": '{"per_token_in":1,"per_token_out":1}' };

async function gateway(settings: object, reply: () => Response = () => Response.json(completion("Hello"))) {
	const account = newAccount();
	await env.GATEWAYS.getByName(account).create("main", { ...DEFAULT_SETTINGS, ...settings });
	const clock = { now: T0 };
	const now = () => clock.now;
	const background: Promise<unknown>[] = [];
	const waitUntil = (work: Promise<unknown>) => void background.push(work.catch(() => {}));
	const engine = upstream(reply);
	/** As in another isolate. */
	const isolate = () => {
		const services = {
			...testServices({ vars: ENGINE_VARS, fetch: engine.fetch }),
			gateways: new Gateways({ registry: (name) => env.GATEWAYS.getByName(name), now }),
			gatewayLimits: new GatewayLimits({
				object: (name) => env.GATEWAY.getByName(name),
				now,
				wait: async () => {},
				waitUntil,
				failed: (cause) => expect.fail(String(cause)),
			}),
			uuid: () => crypto.randomUUID(),
			now,
			waitUntil,
		};
		const app = wireOf(services);
		/** `next`: another step, with these differences. */
		return async (headers: object = {}, overrides: object = {}, next?: object): Promise<Response> => {
			const step = {
				provider: "workers-ai",
				endpoint: LLAMA,
				headers,
				query: { prompt: "Hi" },
				...overrides,
			};
			const request = new Request(
				"https://workers-binding.ai/ai-gateway/universal/run/main",
				json("POST", next ? [step, { ...step, ...next }] : [step]),
			);
			return app.fetch(request, { caller: { ...CALLER, account } });
		};
	};
	const run = isolate();
	return {
		account,
		clock,
		isolate,
		calls: () => engine.requests.length,
		settle: () => Promise.all(background),
		/** Reads the answer, and waits until its cost is added. Returns its status. */
		status: async (headers: object = {}, overrides: object = {}) => {
			const response = await run(headers, overrides);
			await response.text();
			await Promise.all(background);
			return response.status;
		},
		run,
	};
}

const limited = (limit: number, technique: "fixed" | "sliding") => ({
	rate_limiting_interval: 60,
	rate_limiting_limit: limit,
	rate_limiting_technique: technique,
});

describe("the limits of a gateway that is created again with the same name", () => {
	const rules = [{ id: "r1", limitType: "cost" as const, limit: 5, window: 600 }];
	it.each<[string, Partial<GatewayUpdate>]>([
		["rates", { ...limited(1, "fixed"), rate_limiting_interval: 600 }],
		["spend rules", { spend_limits: { enabled: true, rules } }],
	])("begin empty: %s", async (_, limits) => {
		const { account, clock, status } = await gateway(limits);
		expect([await status(COST), await status(COST)]).toEqual([200, 429]);
		const registry = env.GATEWAYS.getByName(account);
		await registry.delete("main");
		await registry.create("main", { ...DEFAULT_SETTINGS, ...limits });
		// Isolates read the settings again.
		clock.now = T0 + 6_000;
		expect([await status(COST), await status(COST)]).toEqual([200, 429]);
	});

	it("are those of the gateway that a change keeps", async () => {
		const settings = { ...limited(1, "fixed"), rate_limiting_interval: 600 };
		const { account, clock, status } = await gateway(settings);
		expect(await status()).toBe(200);
		await env.GATEWAYS.getByName(account).update("main", { ...DEFAULT_SETTINGS, ...settings, zdr: true });
		clock.now = T0 + 6_000;
		expect(await status()).toBe(429);
	});
});

describe("the rate limit of a gateway", () => {
	it("is fixed to the clock, and refuses with 2003", async () => {
		const { clock, run, status, calls } = await gateway(limited(2, "fixed"));
		clock.now = T0 + 59_000;
		expect([await status(), await status()]).toEqual([200, 200]);
		const refused = await run();
		expect(refused.status).toBe(429);
		expect(refused.headers.has("retry-after")).toBe(false);
		expect(refused.headers.get("cf-aig-log-id")).toMatch(/^[0-9a-f-]{36}$/);
		expect(await refused.json()).toMatchObject({
			internalCode: 2003,
			description: "Rate limited",
			httpCode: 429,
		});
		expect(calls()).toBe(2);
		clock.now = T0 + 60_000;
		expect(await status()).toBe(200);
	});

	it("slides: the previous window counts by its overlap", async () => {
		const { clock, status } = await gateway(limited(4, "sliding"));
		for (let nth = 0; nth < 4; nth++) expect(await status()).toBe(200);
		// 4 × 0.75 = 3 of the previous window.
		clock.now = T0 + 75_000;
		expect([await status(), await status()]).toEqual([200, 429]);
		// 4 × 0.5 = 2, and 1.
		clock.now = T0 + 90_000;
		expect([await status(), await status()]).toEqual([200, 429]);
	});

	it("is exact for 150 requests of several isolates at once", async () => {
		const { isolate, calls } = await gateway(limited(30, "fixed"));
		const isolates = Array.from({ length: 5 }, isolate);
		const statuses = await Promise.all(
			Array.from({ length: 150 }, async (_, nth) => {
				const response = await isolates[nth % 5]?.();
				await response?.text();
				return response?.status;
			}),
		);
		expect(statuses.filter((status) => status === 200)).toHaveLength(30);
		expect(statuses.filter((status) => status === 429)).toHaveLength(120);
		expect(calls()).toBe(30);
	});

	it("does not count answers of the cache, nor steps after the first", async () => {
		const { status, run, calls } = await gateway({ ...limited(2, "fixed"), cache_ttl: 60 });
		for (let nth = 0; nth < 5; nth++) expect(await status()).toBe(200);
		expect(calls()).toBe(1);
		const other = { query: { prompt: "another" } };
		expect(await status({}, other)).toBe(200);
		const refused = await run({}, { query: { prompt: "a third" } });
		expect(refused.status).toBe(429);
	});
});

describe("spend rules", () => {
	const rule = (fields: object) => ({
		spend_limits: {
			enabled: true,
			rules: [{ id: "r1", limitType: "cost", limit: 5, window: 60, ...fields }],
		},
	});

	it("refuse with the product's message when the budget is spent, until the window ends", async () => {
		const { clock, run, status } = await gateway(rule({}));
		expect(await status(COST)).toBe(200);
		const refused = await run(COST);
		expect(refused.status).toBe(429);
		expect(await refused.json()).toMatchObject({
			internalCode: 2045,
			description: `Spend limit exceeded: rule 'r1' (cost limit 5 per 60s, fixed) for internal-workers-ai ${LLAMA}`,
		});
		clock.now = T0 + 60_000;
		expect(await status(COST)).toBe(200);
	});

	it("do not interrupt a stream, whose cost is added at its end", async () => {
		const stream = () => events(delta("Hel"), delta("lo"), finish(), usage(), DONE);
		const { run, status } = await gateway(rule({}), stream);
		const query = { query: { prompt: "Hi", stream: true } };
		const [first, second] = [await run(COST, query), await run(COST, query)];
		expect([first.status, second.status]).toEqual([200, 200]);
		for (const response of [first, second]) expect(await response.text()).toContain("[DONE]");
		// Its own cost and wait.
		expect(await status(COST, query)).toBe(429);
	});

	it("count a stream whose caller left", async () => {
		const { calls, run, settle, status } = await gateway(rule({}), () =>
			events(delta("Hel"), usage(), delta("lo"), finish(), DONE),
		);
		const query = { query: { prompt: "Hi", stream: true } };
		const left = await run({ "cf-aig-custom-cost": '{"per_token_in":100,"per_token_out":100}' }, query);
		const reader = left.body?.getReader();
		await reader?.read();
		await reader?.cancel();
		await settle();
		expect(await status(COST, query)).toBe(429);
		expect(calls()).toBe(1);
	});

	it("have a bucket for each value of a partition, and none for requests without it", async () => {
		const { status } = await gateway(rule({ metadata: { user: { mode: "partition" } } }));
		const user = (name: string) => ({ ...COST, "cf-aig-metadata": { user: name } });
		expect([await status(user("a")), await status(user("a")), await status(user("b"))]).toEqual([
			200, 429, 200,
		]);
		expect([await status(COST), await status(COST)]).toEqual([200, 200]);
	});

	it("apply to the models, providers and metadata that they name", async () => {
		const filter = (...values: string[]) => ({ mode: "filter", values });
		const { status } = await gateway(
			rule({
				model: filter(LLAMA),
				provider: filter("workers-ai"),
				metadata: { plan: filter("free", "trial") },
			}),
		);
		const plan = (name: string) => ({ ...COST, "cf-aig-metadata": { plan: name } });
		expect([await status(plan("free")), await status(plan("trial"))]).toEqual([200, 429]);
		expect([await status(plan("paid")), await status(COST)]).toEqual([200, 200]);
		expect(await status(plan("free"), { endpoint: "@cf/meta/llama-3.2-1b-instruct" })).toBe(200);
	});

	it("apply to the provider and the model that a request to compat names", async () => {
		const filter = (...values: string[]) => ({ mode: "filter", values });
		const { status } = await gateway(rule({ provider: filter("workers-ai"), model: filter(LLAMA) }));
		const compat = (model: string) => ({
			provider: "compat",
			endpoint: "chat/completions",
			query: { model, messages: [{ role: "user", content: "Hi" }] },
		});
		expect(await status(COST, compat(`workers-ai/${LLAMA}`))).toBe(200);
		expect(await status(COST, compat(`workers-ai/${LLAMA}`))).toBe(429);
		expect(await status(COST, compat("workers-ai/@cf/meta/llama-3.2-1b-instruct"))).toBe(200);
	});

	it.each(["gpt-5", "openai/gpt-5"])("apply to a model by the name %s on every way in", async (name) => {
		const { status } = await gateway(rule({ model: { mode: "filter", values: [name] } }));
		const headers = { "cf-aig-custom-cost": '{"total_cost":5}', authorization: "Bearer sk-own" };
		const chat = (provider: string, model: string) => ({
			provider,
			endpoint: "chat/completions",
			query: { model, messages: [{ role: "user", content: "Hi" }] },
		});
		expect(await status(headers, chat("compat", "openai/gpt-4o"))).toBe(200);
		expect(await status(headers, chat("compat", "openai/gpt-5"))).toBe(200);
		expect(await status(headers, chat("compat", "openai/gpt-5"))).toBe(429);
		expect(await status(headers, chat("openai", "gpt-5"))).toBe(429);
		expect(await status(headers, chat("openai", "gpt-4o"))).toBe(200);
	});

	it("count the cost of a step whose answer was refused, and of the next one, by the rules of each", async () => {
		const OTHER = "@cf/meta/llama-3.2-1b-instruct";
		const dlp = {
			enabled: true,
			policies: [{ id: "p", enabled: true, action: "BLOCK", check: ["RESPONSE"], profiles: ["email"] }],
		};
		const models = [LLAMA, OTHER].map((model) => ({
			...{ id: model, limitType: "cost", limit: 5, window: 60 },
			model: { mode: "filter", values: [model] },
		}));
		const replies = ["a@b.example", "Hello"];
		const { run, settle, status } = await gateway(
			{ dlp, spend_limits: { enabled: true, rules: models } },
			() => Response.json(completion(replies.shift() ?? "Hello")),
		);
		const response = await run(COST, {}, { endpoint: OTHER });
		expect(response.headers.get("cf-aig-step")).toBe("1");
		await response.text();
		await settle();
		expect([await status(COST), await status(COST, { endpoint: OTHER })]).toEqual([429, 429]);
	});

	it.each([
		["no cost", {}],
		["a total of zero", { "cf-aig-custom-cost": '{"total_cost":0}' }],
		["prices of zero", { "cf-aig-custom-cost": '{"per_token_in":0,"per_token_out":0}' }],
	])("count the computed cost of a request that declares %s", async (_, headers) => {
		const { status } = await gateway(rule({ limit: 0.000_000_1 }));
		expect([await status(headers), await status(headers)]).toEqual([200, 429]);
	});

	it("do not count the declared total of a request that they refuse, or that fails", async () => {
		const replies = [400, 200, 200];
		const { clock, status } = await gateway(rule({ limit: 8, technique: "sliding" }), () =>
			replies.shift() === 400
				? Response.json({ error: { message: "no" } }, { status: 400 })
				: Response.json(completion("Hello")),
		);
		const total = { "cf-aig-custom-cost": '{"total_cost":5}' };
		expect(await status(total)).toBe(400);
		expect([await status(total), await status(total)]).toEqual([200, 200]);
		for (let nth = 0; nth < 4; nth++) expect(await status(total)).toBe(429);
		// 10 × 0.75 = 7.5 dollars of the previous window.
		clock.now = T0 + 75_000;
		expect(await status(total)).toBe(200);
	});

	it("that are disabled do not apply", async () => {
		const { status } = await gateway(rule({ enabled: false }));
		expect([await status(COST), await status(COST)]).toEqual([200, 200]);
	});
});
