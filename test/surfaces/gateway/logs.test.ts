/** Logs of requests to a gateway: one row for each request, and their API. */
import { env } from "cloudflare:workers";
import { describe, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { configure } from "../../../src/config/index.ts";
import { Gateways, type RegistryCalls } from "../../../src/gateways/client/gateways.ts";
import { DEFAULT_SETTINGS } from "../../../src/gateways/settings.ts";
import { createPersistent } from "../../../src/persistent-services.ts";
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
	liveEvents,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";
import { droppedOf } from "../../gateways/client/dropped.ts";
import { ADMIN, failureOf, json, V4 } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

interface LogJson extends Record<string, unknown> {
	id: string;
}

function gateway(reply: () => Response | Promise<Response> = () => Response.json(completion("Hello"))) {
	const engine = upstream(reply);
	const services = {
		...testServices({ vars: ENGINE_VARS, fetch: engine.fetch }),
		uuid: () => crypto.randomUUID(),
		now: () => Date.now(),
	};
	const account = newAccount();
	const wire = wireOf(services);
	const app = createApp(services, { allowAnonymous: false, adminToken: ADMIN });
	const send = (path: string, init: RequestInit = {}) =>
		app.request(`${V4}/accounts/${account}/ai-gateway/gateways${path}`, {
			...init,
			headers: { ...init.headers, authorization: `Bearer ${ADMIN}` },
		});
	const carry = (path: string, init?: RequestInit): Promise<Response> =>
		Promise.resolve(
			wire.fetch(new Request(`https://workers-binding.ai${path}`, init), { caller: { ...CALLER, account } }),
		);
	const step = (query: object, headers: object = {}, endpoint = LLAMA) => ({
		provider: "workers-ai",
		endpoint,
		headers,
		query,
	});
	return {
		services,
		account,
		send,
		carry,
		step,
		/** Runs steps in the gateway `main`. */
		run: (steps: unknown, headers: Record<string, string> = {}, signal?: AbortSignal) =>
			carry("/ai-gateway/universal/run/main", {
				...json("POST", steps),
				headers: { "content-type": "application/json", ...headers },
				...(signal && { signal }),
			}),
		list: async (query = "") => {
			const { result } = await (await send(`/main/logs${query}`)).json<{ result: LogJson[] }>();
			return result;
		},
		/** Waits for the row. */
		read: async (response: Response) => {
			const id = response.headers.get("cf-aig-log-id");
			// A busy machine may need longer than the second that the gateway waits for a row.
			return vi.waitFor(
				async () => {
					const { result } = await (await send(`/main/logs/${id}`)).json<{ result: LogJson | null }>();
					if (!result) throw new Error(`There is no log ${id}`);
					return result;
				},
				{ timeout: 30_000 },
			);
		},
	};
}

const HI = { prompt: "Hi" };

const unreachable = (): never => {
	throw new Error("the object cannot be called");
};
const broken: RegistryCalls = {
	get: unreachable,
	list: unreachable,
	create: unreachable,
	update: unreachable,
	delete: unreachable,
	serve: unreachable,
	names: unreachable,
};
const streamed = () => events(delta("Hel"), delta("lo"), finish(), usage(), DONE);

describe("the log of a request", () => {
	it("has its facts, tokens, cost, metadata and contents, right after the answer, in another isolate", async () => {
		const { run, step, carry, account, read } = gateway();
		const steps = [step(HI, { "cf-aig-metadata": { user: "u1", n: 7, paid: true } })];
		const response = await run(steps, { "user-agent": "test/1.0" });
		const id = response.headers.get("cf-aig-log-id") ?? "";
		expect(id).toMatch(UUID_V7);
		const body = await response.text();
		const other = wireOf({
			...testServices(),
			gatewayLogs: createPersistent(env, configure({})).gatewayLogs,
		});
		const get = () =>
			other.fetch(new Request(`https://workers-binding.ai/ai-gateway/gateways/main/logs/${id}`), {
				caller: { ...CALLER, account },
			});
		// On a busy machine the answer waits for its log only so long.
		await expect.poll(async () => (await get()).status, { timeout: 20_000 }).toBe(200);
		const { result } = await (await get()).json<{ result: LogJson }>();
		// 3 and 2 tokens at the prices of the model, in neurons per million: 13,778 and 26,128. 1,000 neurons cost $0.011.
		const neurons = Number(response.headers.get("cf-ai-neurons"));
		expect(Math.abs((result.cost as number) - neurons * 0.000011)).toBeLessThan(0.000011 * 0.005 + 1e-12);
		expect(result).toMatchObject({
			id,
			event_id: id,
			provider: "workers-ai",
			model: LLAMA,
			model_type: "Text Generation",
			request_type: "Universal",
			user_agent: "test/1.0",
			byok: false,
			path: LLAMA,
			status_code: 200,
			success: true,
			cached: false,
			custom_cost: false,
			tokens_in: 3,
			tokens_out: 2,
			step: 0,
			metadata: { user: "u1", n: 7, paid: true },
			request_content_type: "application/json",
			response_content_type: "application/json",
			request_head: '{"prompt":"Hi"}',
			request_head_complete: true,
			request_size: 15,
			response_head: body,
			response_head_complete: true,
			response_size: body.length,
			duration: expect.any(Number),
			timings: { latency: expect.any(Number) },
		});
		expect(Math.abs(Date.parse(result.created_at as string) - Date.now())).toBeLessThan(60_000);
		expect((await carry(`/ai-gateway/gateways/other/logs/${id}`)).status).toBe(404);
		expect(await read(response)).toEqual(result);
	});

	it("of a stream has the usage and all events", async () => {
		const { run, step, read } = gateway(streamed);
		const response = await run([step({ ...HI, stream: true })]);
		const body = await response.text();
		expect(body).toContain("[DONE]");
		expect(await read(response)).toMatchObject({
			tokens_in: 3,
			tokens_out: 2,
			success: true,
			response_content_type: "text/event-stream",
			response_head: body,
			response_size: body.length,
		});
	});

	it("of a stream whose caller leaves has the part that was read", async () => {
		const live = liveEvents();
		const { run, step, read } = gateway(() => {
			live.send(delta("Hel"));
			return live.response;
		});
		const response = await run([step({ ...HI, stream: true })]);
		const reader = response.body?.getReader();
		const first = await reader?.read();
		await reader?.cancel();
		const row = await read(response);
		expect(row).toMatchObject({ status_code: 200, success: true, response_size: first?.value?.length });
		expect(row.response_head).toContain("Hel");
	});

	it("of a stream that breaks off is a failure", async () => {
		const live = liveEvents();
		const { run, step, read } = gateway(() => {
			live.send(delta("Hel"));
			return live.response;
		});
		const response = await run([step({ ...HI, stream: true })]);
		const reader = response.body?.getReader();
		await reader?.read();
		live.fail(new Error("the engine broke"));
		while (!(await reader?.read())?.done);
		expect(await read(response)).toMatchObject({ status_code: 200, success: false });
	});

	it("has the step that answered, and the failure of the last one if none did", async () => {
		const { run, step, read } = gateway();
		const nothing = { ...step(HI), provider: "nothing" };
		const steps = [nothing, step(HI, { "cf-aig-event-id": "event-1" })];
		const answered = await run(steps);
		await answered.text();
		expect(await read(answered)).toMatchObject({ step: 1, model: LLAMA, event_id: "event-1", success: true });
		const failed = await run([nothing, nothing]);
		await failed.text();
		expect(await read(failed)).toMatchObject({
			step: 1,
			provider: "nothing",
			status_code: 400,
			success: false,
			tokens_in: null,
			tokens_out: null,
		});
	});

	it("has the error of a refused request as its response, unless contents are excluded", async () => {
		const { run, step, read, send, list } = gateway();
		const refused = await run([step({ prompt: 5 })]);
		const { code, message } =
			(await refused.json<{ errors: { code: number; message: string }[] }>()).errors[0] ?? {};
		expect(code).toBe(5006);
		const row = await read(refused);
		const logged = await send(`/main/logs/${row.id}/response`);
		expect(await logged.text()).toBe(row.response_head);
		const { errors } = JSON.parse(String(row.response_head));
		expect(errors[0].code).toBe(code);
		expect(message).toContain(errors[0].message);
		expect((await list())[0]).not.toHaveProperty("error");
		const bare = await run([step({ prompt: 5 })], { "cf-aig-collect-log-payload": "false" });
		expect(bare.status).toBe(400);
		await bare.text();
		const { id } = await read(bare);
		expect(await failureOf(await send(`/main/logs/${id}/response`))).toBe(
			`404 7002: The log "${id}" has no response`,
		);
	});

	it.each(["custom/none", "dynamic/none"])("names the model %s, which does not exist", async (model) => {
		const { run, carry, read } = gateway();
		const query = { model, messages: [{ role: "user", content: "Hi" }] };
		const compat = await run([{ provider: "compat", endpoint: "chat/completions", headers: {}, query }]);
		expect(compat.status).toBe(404);
		await compat.text();
		expect(await read(compat)).toMatchObject({ provider: "compat", model, path: "chat/completions" });
		const bound = await carry("/ai-gateway/run?version=3", {
			...json("POST", { inputs: query, options: { gateway: { id: "main" } } }),
			headers: { "content-type": "application/json", "cf-consn-model-id": model },
		});
		expect(bound.status).toBe(404);
		await bound.text();
		expect(await read(bound)).toMatchObject({
			provider: "workers-ai",
			model,
			path: expect.stringMatching(/./),
		});
	});

	it("has no contents, or is absent, if the request excludes them", async () => {
		const { run, step, read, send, list } = gateway();
		const bare = await run([step(HI)], { "cf-aig-collect-log-payload": "false" });
		await bare.text();
		const row = await read(bare);
		expect(row).toMatchObject({ tokens_out: 2, request_head_complete: false, response_head_complete: false });
		expect(row).not.toHaveProperty("request_head");
		expect(row).not.toHaveProperty("response_head");
		expect(await failureOf(await send(`/main/logs/${row.id}/request`))).toBe(
			`404 7002: The log "${row.id}" has no request`,
		);
		const none = await run([step(HI)], { "cf-aig-collect-log": "false" });
		await none.text();
		expect(none.headers.has("cf-aig-log-id")).toBe(false);
		expect(await list()).toHaveLength(1);
	});

	it("has the caller's own cost, and an answer of the cache costs nothing", async () => {
		const { run, step, read } = gateway();
		const headers = {
			"cf-aig-custom-cost": '{"per_token_in":0.5,"per_token_out":2}',
			"cf-aig-cache-key": crypto.randomUUID(),
		};
		const first = await run([step(HI)], headers);
		await first.text();
		// 3 tokens at $0.5 and 2 tokens at $2.
		expect(await read(first)).toMatchObject({ cost: 5.5, custom_cost: true, cached: false });
		let hit = await run([step(HI)], headers);
		for (let tries = 0; hit.headers.get("cf-aig-cache-status") !== "HIT" && tries < 50; tries++) {
			await hit.text();
			hit = await run([step(HI)], headers);
		}
		await hit.text();
		expect(await read(hit)).toMatchObject({
			cost: 0,
			custom_cost: false,
			cached: true,
			tokens_in: 0,
			model: LLAMA,
			model_type: "Text Generation",
		});
	});

	it("has the evaluations of guardrails and the findings of data-loss prevention", async () => {
		const { account, run, step, read } = gateway();
		await env.GATEWAYS.getByName(account).create("main", {
			...DEFAULT_SETTINGS,
			// The engine's answer is no judgement.
			guardrails: { prompt: { S1: "FLAG" } },
			dlp: { enabled: true, action: "FLAG", profiles: ["email"] },
		});
		const response = await run([step({ prompt: "Write to a@example.com" })]);
		await response.text();
		expect(await read(response)).toMatchObject({
			guardrails: [{ phase: "prompt", categories: [], unavailable: true }],
			dlp_action: "FLAG",
			dlp: JSON.parse(response.headers.get("cf-aig-dlp") ?? ""),
		});
	});

	it.each([
		["{", 5006],
		["[]", 5006],
	])("of a body that cannot be read (%s) is a failure", async (body, code) => {
		const { carry, read, account } = gateway();
		const universal = await carry("/ai-gateway/universal/run/main", { method: "POST", body });
		expect(await universal.json()).toMatchObject({ internalCode: code });
		expect(await read(universal)).toMatchObject({ status_code: 400, success: false, provider: "" });
		if (body === "[]") return;
		const init = { method: "POST", body, headers: { "content-type": "application/json" } };
		const address = await carry(`/v1/${account}/main/openai/chat/completions`, init);
		expect(await address.json()).toMatchObject({ internalCode: code });
		expect(await read(address)).toMatchObject({
			status_code: 400,
			success: false,
			provider: "openai",
			path: "chat/completions",
			request_type: "Provider",
		});
	});

	it("is not written if the gateway's settings cannot be read, which is a failure of the gateway", async () => {
		const { services, step } = gateway();
		const gateways = new Gateways({ registry: () => broken, now: () => Date.now() });
		const request = new Request(
			"https://workers-binding.ai/ai-gateway/universal/run/main",
			json("POST", [step(HI)]),
		);
		const response = await wireOf({ ...services, gateways }).fetch(request, { caller: CALLER });
		expect(response.status).toBe(502);
		expect(await response.json()).toMatchObject({ internalCode: 7009 });
	});

	it("is written once for each of many requests of every kind", async () => {
		const { run, step, list } = gateway(streamed);
		const requests = Array.from({ length: 40 }, async (_, n) => {
			const kind = n % 4;
			const response = await run(
				kind === 0
					? [{ ...step(HI), provider: "nothing" }]
					: kind === 1
						? [step({ prompt: 7 })]
						: [step({ ...HI, stream: true })],
			);
			if (kind === 2) await response.body?.cancel();
			else await response.text();
			return response.headers.get("cf-aig-log-id");
		});
		const ids = await Promise.all(requests);
		await expect.poll(async () => (await list("?per_page=50")).length).toBe(40);
		expect(new Set((await list("?per_page=50")).map(({ id }) => id))).toEqual(new Set(ids));
	});

	it("does not fail a request if the object of the gateway is broken", async () => {
		const { services, step, account } = gateway();
		const failures: unknown[] = [];
		const work: Promise<unknown>[] = [];
		const { GatewayLogs } = await import("../../../src/gateways/client/gateway-logs.ts");
		const gatewayLogs = new GatewayLogs({
			object: () => {
				throw new Error("broken");
			},
			now: () => Date.now(),
			wait: async () => {},
			waitUntil: (promise) => void work.push(promise),
			failed: (cause) => failures.push(cause),
			maxPayload: 1_000,
			pause: (leastMs) => leastMs,
		});
		const request = new Request(
			"https://workers-binding.ai/ai-gateway/universal/run/main",
			json("POST", [step(HI)]),
		);
		const response = await wireOf({ ...services, gatewayLogs }).fetch(request, {
			caller: { ...CALLER, account },
		});
		expect(response.status).toBe(200);
		await response.text();
		await Promise.all(work);
		expect(failures).toHaveLength(1);
		expect(droppedOf(gatewayLogs, "log")).toBe(1);
	});
});

describe("the API of logs", () => {
	/** A gateway with four logs, oldest first. */
	async function withLogs() {
		const all = gateway();
		const ids: string[] = [];
		for (const [provider, metadata] of [
			["workers-ai", { team: "red" }],
			["workers-ai", { team: "blue" }],
			["nothing", { team: "blue" }],
			["workers-ai", {}],
		] as const) {
			const step = all.step(HI, { "cf-aig-metadata": metadata });
			const response = await all.run([{ ...step, provider }]);
			await response.text();
			ids.push((await all.read(response)).id);
		}
		const indexes = async (query: string) => (await all.list(query)).map(({ id }) => ids.indexOf(id));
		return { ...all, ids, indexes };
	}
	const filtered = (...filters: object[]) => `?filters=${encodeURIComponent(JSON.stringify(filters))}`;

	it("lists logs without contents, newest first, in pages", async () => {
		const { send, indexes } = await withLogs();
		expect(await indexes("")).toEqual([3, 2, 1, 0]);
		expect(await indexes("?order_by_direction=asc&per_page=3&page=2")).toEqual([3]);
		expect(await indexes("?page=9")).toEqual([]);
		const { result, result_info } = await (await send("/main/logs?per_page=2")).json<{
			result: object[];
			result_info: object;
		}>();
		expect(result_info).toEqual({ page: 1, per_page: 2, count: 2, total_count: 4, total_pages: 2 });
		expect(result[0]).not.toHaveProperty("request_head");
		expect(result[0]).not.toHaveProperty("request_size");
	});

	it("filters, searches and counts", async () => {
		const { send, indexes } = await withLogs();
		const blue = { key: "metadata.value", operator: "eq", value: ["blue"] };
		expect(await indexes(filtered(blue))).toEqual([2, 1]);
		expect(await indexes(filtered(blue, { key: "success", operator: "eq", value: [true] }))).toEqual([1]);
		expect(await indexes("?search=RED")).toEqual([0]);
		expect(await indexes("?success=false")).toEqual([2]);
		expect(await indexes("?filters.key=provider&filters.operator=contains&filters.value=workers")).toEqual([
			3, 1, 0,
		]);
		const { result_info } = await (await send(`/main/logs${filtered(blue)}&meta_info=true`)).json<{
			result_info: object;
		}>();
		expect(result_info).toMatchObject({ total_count: 2 });
	});

	it.each([
		"?per_page=51",
		"?order_by=cost",
		"?filters=x",
		filtered({ key: "x", operator: "eq", value: [1] }),
		"?min_cost=1",
	])("refuses %s with 7001", async (query) => {
		const { send } = gateway();
		expect(await failureOf(await send(`/main/logs${query}`))).toMatch(/^400 7001: /);
	});

	it("have short names of providers and models, whatever a step names", async () => {
		const { run, step, read } = await withLogs();
		const long = "x".repeat(100_000);
		const response = await run([{ ...step({ model: long }), provider: long }]);
		await response.text();
		expect(await read(response)).toMatchObject({ provider: "x".repeat(64), model: "x".repeat(64) });
	});

	it("names the place of a mistake in the filters", async () => {
		const { send } = gateway();
		const refused = await send(`/main/logs${filtered({ key: "cost", operator: "eq", value: "x" })}`);
		expect(await failureOf(refused)).toMatch(/^400 7001: filters\[0\]\.value/);
	});

	it("shows the contents: JSON as JSON, and other text as text", async () => {
		const { send, ids, run, step, read } = await withLogs();
		const request = await send(`/main/logs/${ids[0]}/request`);
		expect(request.headers.get("content-type")).toBe("application/json");
		expect(await request.json()).toEqual(HI);
		const response = await send(`/main/logs/${ids[0]}/response`);
		expect(await response.json()).toMatchObject({ success: true, result: { response: "Hello" } });
		const long = await run([step({ ...HI, note: "x".repeat(299_988) })]);
		await long.text();
		const row = await read(long);
		expect(row).toMatchObject({ request_size: 300_013, request_head_complete: false });
		expect(row.request_head).toHaveLength(4_096);
		// An object of the bucket.
		const complete = await send(`/main/logs/${row.id}/request`);
		expect(complete.headers.get("content-type")).toBe("application/json");
		expect(await complete.json()).toEqual({ ...HI, note: "x".repeat(299_988) });
		const text = await run([step({ ...HI, note: "x".repeat(4 * 1024 * 1024) })]);
		await text.text();
		const cut = await send(`/main/logs/${(await read(text)).id}/request`);
		expect(cut.headers.get("content-type")).toBe("text/plain; charset=utf-8");
		expect(cut.headers.get("x-ganglion-complete")).toBe("false");
		expect(await cut.text()).toHaveLength(4 * 1024 * 1024);
	});

	it("changes feedback, score and metadata", async () => {
		const { send, carry, ids } = await withLogs();
		const path = `/main/logs/${ids[0]}`;
		expect((await send(path, json("PATCH", { feedback: 1, score: 80 }))).status).toBe(200);
		const wire = await carry(`/ai-gateway/gateways${path}`, json("PATCH", { metadata: { note: "n" } }));
		expect(wire.status).toBe(200);
		expect(await wire.json()).toEqual({ success: true, result: {} });
		const misspelled = await carry(`/ai-gateway/gateways${path}`, json("PATCH", { feedbck: 1 }));
		expect(await misspelled.json()).toEqual({
			...{ success: true, result: {} },
			messages: [{ code: 7001, message: 'feedbck: unknown, ignored; did you mean "feedback"?' }],
		});
		const { result } = await (await send(path)).json<{ result: object }>();
		expect(result).toMatchObject({ feedback: 1, score: 80, metadata: { note: "n" } });
		for (const [body, message] of [
			[{ feedback: 2 }, "feedback: expected 1, -1 or 0, found 2"],
			[{ score: "x" }, "score: expected a number, found text"],
			[{ metadata: { a: { b: 1 } } }, "metadata.a: expected a text, a number, true or false"],
		] as const)
			expect(await failureOf(await send(path, json("PATCH", body)))).toBe(`400 7001: ${message}`);
		const time = filtered({ key: "created_at", operator: "gt", value: ["yesterday"] });
		expect(await failureOf(await send(`/main/logs${time}`))).toBe(
			"400 7001: filters[0].value[0]: expected a time in ISO 8601, or milliseconds since 1970",
		);
		const unknown = "/main/logs/01000000-0000-7000-8000-000000000000";
		expect(await failureOf(await send(unknown, json("PATCH", { feedback: 1 })))).toBe(
			'404 7002: Log Not Found: "01000000-0000-7000-8000-000000000000" in the gateway "main"',
		);
	});

	it("deletes logs by filters, and all logs with their gateway", async () => {
		const { send, indexes } = await withLogs();
		const red = filtered({ key: "metadata.value", operator: "eq", value: ["red"] });
		expect((await send(`/main/logs${red}`, { method: "DELETE" })).status).toBe(200);
		expect(await indexes("")).toEqual([3, 2, 1]);
		await send("/main/logs?limit=1", { method: "DELETE" });
		expect(await indexes("")).toEqual([3, 2]);
		await send("/main/logs", { method: "DELETE" });
		expect(await indexes("")).toEqual([]);
	});

	it("has no log of a request that ends after its gateway was deleted, also if the gateway is created again", async () => {
		const live = liveEvents();
		const replies = [live.response, Response.json(completion("Hello"))];
		const { send, run, step, list, read, services } = gateway(() => replies.shift() ?? new Response());
		const settings = json("POST", { id: "main", ...DEFAULT_SETTINGS });
		expect((await send("", settings)).status).toBe(200);
		live.send(delta("Hello"));
		const late = await run([step({ ...HI, stream: true })]);
		expect((await send("/main", { method: "DELETE" })).status).toBe(200);
		expect((await send("", settings)).status).toBe(200);
		for (const frame of [finish(), usage(), DONE]) live.send(frame);
		live.end();
		expect(await late.text()).toContain("Hello");
		const { id } = await read(await run([step(HI)]));
		// The log of the first request was sent before.
		expect((await list()).map((log) => log.id)).toEqual([id]);
		expect(droppedOf(services.gatewayLogs, "log")).toBe(0);
	});
});
