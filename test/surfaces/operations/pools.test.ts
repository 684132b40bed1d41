import { Validator } from "@cfworker/json-schema";
import { describe, expect, it } from "vitest";
import { openApiDocument } from "../../../src/surfaces/operations/openapi-document.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, failureOf, json, V4 } from "../../http/access.ts";

const MODEL = "pool/chat";
const COMPLETION = {
	choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello." } }],
	usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
};

interface Replica {
	id: string;
	url: string;
	role: string;
	state: string;
	source: string;
}

/** The changes of all tests are in one object, so each test has a backend of its own. */
let backends = 0;
function operated(addresses: object) {
	const backend = `engines-${backends++}`;
	const engine = upstream(() => Response.json(COMPLETION));
	const gateway = closedGateway({
		vars: {
			BACKENDS: {
				[backend]: { kind: "openai", ...addresses },
				other: { kind: "openai", url: "http://other/v1" },
			},
			ROUTES: { [MODEL]: [{ backend }], "other/*": [{ backend: "other" }] },
			MODELS: { [MODEL]: { task: "Text Generation" } },
		},
		fetch: engine.fetch,
	});
	const call = async (method: string, path: string, body?: object) => {
		const url = `${V4}/pools/${backend}${path}`;
		const response = await gateway.send(url, ADMIN, body ? json(method, body) : { method });
		const failure = response.ok ? "" : await failureOf(response.clone());
		return { failure, envelope: await response.json<{ result: { replicas: Replica[] } & Replica }>() };
	};
	const states = async () => {
		const { replicas } = (await call("GET", "")).envelope.result;
		return Object.fromEntries(
			replicas.map(({ url, state, source }) => [new URL(url).host, `${state} ${source}`]),
		);
	};
	const change = async (method: string, host: string, body?: object) => {
		const { replicas } = (await call("GET", "")).envelope.result;
		const { id = "absent" } = replicas.find(({ url }) => new URL(url).host === host) ?? {};
		return call(method, `/replicas/${id}`, body);
	};
	let sent = 0;
	/** The hosts that answer requests of new conversations. */
	const serving = async (requests = 6) => {
		engine.requests.length = 0;
		for (let i = 0; i < requests; i++)
			await gateway.send(
				"/ai/v1/chat/completions",
				ADMIN,
				json("POST", { model: MODEL, messages: [{ role: "user", content: `Request ${sent++}` }] }),
			);
		return [...new Set(engine.requests.map(({ url }) => new URL(url).host))].sort();
	};
	return { backend, gateway, call, states, change, serving };
}

/** In turn: by the expected time, a replica that was slow once may get no request. */
const TWO = { pool: { policy: "round-robin", replicas: ["http://a/v1", "http://b/v1"] } };

describe("replicas", () => {
	it("are drained, undrained, added and removed without a restart", async () => {
		const { call, change, serving, states } = operated(TWO);
		expect(await serving()).toEqual(["a", "b"]);
		await change("PATCH", "a", { state: "draining" });
		expect(await serving()).toEqual(["b"]);
		expect(await states()).toEqual({ a: "draining configuration", b: "active configuration" });
		await change("PATCH", "a", { state: "active" });
		expect(await serving()).toEqual(["a", "b"]);
		await call("POST", "/replicas", { url: "http://c/v1/" });
		await change("DELETE", "b");
		expect(await serving()).toEqual(["a", "c"]);
		expect(await states()).toEqual({
			a: "active configuration",
			b: "removed configuration",
			c: "active api",
		});
		// A removed replica of the configuration stays in the list, so that it can be restored.
		await call("POST", "/replicas", { url: "http://b/v1" });
		await change("DELETE", "c");
		expect(await states()).toEqual({ a: "active configuration", b: "active configuration" });
	});

	it("of one address can be drained too, and its requests are then refused", async () => {
		const { change, gateway, serving, states } = operated({ url: "http://single/v1" });
		expect(await serving(1)).toEqual(["single"]);
		await change("PATCH", "single", { state: "draining" });
		expect(await states()).toEqual({ single: "draining configuration" });
		const refused = await gateway.send(
			"/ai/v1/chat/completions",
			ADMIN,
			json("POST", { model: MODEL, messages: [{ role: "user", content: "Hi" }] }),
		);
		expect(await failureOf(refused)).toMatch(/^429 3040: /);
		const explained = await gateway.send(
			`/ai/explain/${MODEL}`,
			ADMIN,
			json("POST", { messages: [{ role: "user", content: "Hi" }] }),
		);
		expect(await explained.json()).toMatchObject({
			result: { targets: [], refused: [{ step: "dispatch", code: 3040, status: 429 }] },
		});
		await change("PATCH", "single", { state: "active" });
		expect(await serving(1)).toEqual(["single"]);
	});

	it("have a queue, whose length explain shows", async () => {
		const { gateway } = operated({ pool: { replicas: ["http://a/v1"], max_requests: 1 } });
		const why = async () => {
			const body = json("POST", { messages: [{ role: "user", content: "Hi" }] });
			const response = await gateway.send(`/ai/explain/${MODEL}`, ADMIN, body);
			return (await response.json<{ result: { targets: { why: string }[] } }>()).result.targets[0]?.why;
		};
		expect(await why()).toBe("in the order of the route");
		const [target] = gateway.services.routing.find(MODEL)?.targets ?? [];
		const gate = target && gateway.services.pools.of(target)?.gate;
		const caller = new AbortController();
		const services = { now: () => 0, wait: () => new Promise<void>(() => {}) };
		const request = { account: "acme", priority: "interactive", cost: 1, mayWait: true } as const;
		const entered = [1, 2, 3].map(() =>
			gate?.enter({ ...request, signal: caller.signal }, services).catch(() => {}),
		);
		await entered[0];
		expect(await why()).toBe("in the order of the route; requests in its queue: 2");
	});

	it("of a misspelled backend have the one that is meant", async () => {
		const { gateway } = operated(TWO);
		const refused = async (name: string) => failureOf(await gateway.send(`${V4}/pools/${name}`, ADMIN));
		expect(await refused("othr")).toBe('404 7002: Backend not found: "othr"; did you mean "other"?');
		expect(await refused("absent")).toBe(
			'404 7002: Backend not found: "absent"; no route names one with an address (GET /client/v4/pools)',
		);
	});

	it("of one pool are not added to another", async () => {
		const { backend, call } = operated(TWO);
		const add = async (url: string) => (await call("POST", "/replicas", { url })).failure;
		expect(await add("http://a/v1")).toBe(
			`400 1001: url: a replica of the backend '${backend}' already has this address`,
		);
		expect(await add("http://other/v1")).toBe(
			"400 1001: url: a replica of the backend 'other' already has this address",
		);
		expect(await add("ftp://c")).toBe(
			"400 1001: url: expected the http or https address of an engine, found an address that does not begin with http:// or https://",
		);
		expect((await call("PATCH", "/replicas/0", { state: "draining" })).failure).toBe(
			`404 7002: Replica not found: "0"; GET /client/v4/pools/${backend} has the ids`,
		);
		expect((await call("PATCH", "/replicas/0", { state: "removed" })).failure).toMatch(/^400 1001: state: /);
	});

	it("have a role if the pool has two stages", async () => {
		const { call, change } = operated({
			pool: {
				replicas: [
					{ url: "http://a/v1", role: "prefill" },
					{ url: "http://b/v1", role: "decode" },
				],
				disaggregation: "nixl",
			},
		});
		const roles = async () =>
			(await call("GET", "")).envelope.result.replicas.map(
				({ role, state, url }) => `${new URL(url).host} ${role} ${state}`,
			);
		const add = async (body: object) => (await call("POST", "/replicas", body)).failure;
		expect(await add({ url: "http://c/v1", role: "prefill" })).toBe("");
		expect(await add({ url: "http://d/v1" })).toBe("");
		expect(await add({ url: "http://e/v1", role: "encode" })).toBe(
			'400 1001: role: expected "both", "prefill" or "decode", found "encode"; did you mean "decode"?',
		);
		expect(await add({ url: "http://e/v1", role: "prefill", bootstrap_port: 9_000 })).toMatch(
			/^400 1001: bootstrap_port: expected no such field/,
		);
		await change("PATCH", "c", { state: "draining" });
		await change("DELETE", "b");
		expect(await roles()).toEqual([
			"a prefill active",
			"b decode removed",
			"c prefill draining",
			"d both active",
		]);
		expect(await add({ url: "http://b/v1", role: "prefill" })).toBe(
			'400 1001: role: expected "decode" as in the configuration, found "prefill"',
		);
		expect(await add({ url: "http://b/v1", role: "decode" })).toBe("");

		const { call: callOther } = operated(TWO);
		expect((await callOther("POST", "/replicas", { url: "http://c/v1", role: "decode" })).failure).toBe(
			'400 1001: role: expected "both" in a pool without disaggregation, found "decode"',
		);
	});

	it("are answered as the OpenAPI document describes", async () => {
		const { backend, call, change, gateway } = operated(TWO);
		const { paths, components } = await openApiDocument(ROUTES);
		const errors = (path: string, method: string, body: unknown) => {
			const schema = paths[path]?.[method]?.responses[200]?.content?.["application/json"]?.schema;
			if (!schema) throw new Error(`${method} ${path} has no schema`);
			return new Validator({ ...schema, components }, "2020-12").validate(body).errors;
		};
		const base = "/client/v4/pools";
		const replica = `${base}/{backend}/replicas/{replica}`;
		const listed = await gateway.send(`${V4}/pools`, ADMIN);
		const list = await listed.json<{ result: { backend: string }[] }>();
		expect(list.result.map((one) => one.backend)).toEqual([backend, "other"]);
		expect(errors(base, "get", list)).toEqual([]);
		expect(errors(`${base}/{backend}`, "get", (await call("GET", "")).envelope)).toEqual([]);
		const added = await call("POST", "/replicas", { url: "http://c/v1" });
		expect(errors(`${base}/{backend}/replicas`, "post", added.envelope)).toEqual([]);
		const drained = await change("PATCH", "c", { state: "draining" });
		expect(errors(replica, "patch", drained.envelope)).toEqual([]);
		expect(drained.envelope.result).toEqual({
			id: expect.stringMatching(/^[0-9a-f]{14}$/),
			url: "http://c/v1",
			role: "both",
			state: "draining",
			source: "api",
			circuit: "closed",
			requests: 0,
			prefill_tokens: 0,
			decode_tokens: 0,
			engine: null,
		});
		expect(errors(replica, "delete", (await change("DELETE", "c")).envelope)).toEqual([]);
	});
});
