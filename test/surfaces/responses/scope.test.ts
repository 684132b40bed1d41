/** Who sees stored responses, how many an account can store, and how long they are kept. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { StoredResponses, storeCalls } from "../../../src/responses/client/stored-responses.ts";
import type { ResponseStoreObject } from "../../../src/responses/durable/response-store.ts";
import { ROUTES } from "../../../src/surfaces/routes.ts";
import { completion, ENGINE_VARS, OPEN_ACCESS, testServices, upstream } from "../../gateway.ts";
import { closedGateway, json } from "../../http/access.ts";

const MODEL = "gpt-5.6-sol";
type Body = Record<string, unknown> & { id: string };

const engine = () => upstream(() => Response.json(completion("Hello"))).fetch;

describe("the tokens of an account", () => {
	function accounts() {
		const { send, createToken } = closedGateway({ vars: ENGINE_VARS, fetch: engine() });
		const call = async (token: string, method: string, path: string, body?: object) => {
			const init = body ? json(method, body) : { method };
			const response = await send(`/ai/v1${path}`, token, init);
			return { status: response.status, body: await response.json<Body>() };
		};
		const create = (token: string, fields: object = {}) =>
			call(token, "POST", "/responses", { model: MODEL, input: "Hi", ...fields });
		return { call, create, createToken };
	}

	it("see what they made, and nothing of the others without the permission to write", async () => {
		const { call, create, createToken } = accounts();
		const [ada, ben, owner] = [
			await createToken(["Workers AI Run"]),
			await createToken(["Workers AI Read"]),
			await createToken(["Workers AI Write"]),
		];
		const { body } = await create(ada);
		const path = `/responses/${body.id}`;
		expect((await call(ada, "GET", path)).status).toBe(200);
		expect((await call(ben, "GET", path)).status).toBe(404);
		expect((await call(ben, "DELETE", path)).status).toBe(404);
		expect((await call(ben, "GET", `${path}/input_items`)).status).toBe(404);
		expect((await call(ben, "POST", `${path}/cancel`, {})).status).toBe(404);
		expect(await create(ben, { previous_response_id: body.id })).toMatchObject({
			status: 400,
			body: { error: { code: "previous_response_not_found" } },
		});
		const [item] = body.output as { id: string }[];
		expect((await create(ben, { input: [{ type: "item_reference", id: item?.id }] })).status).toBe(400);
		expect((await create(ada, { previous_response_id: body.id })).status).toBe(200);
		expect((await create(owner, { previous_response_id: body.id })).status).toBe(200);
		expect((await call(owner, "DELETE", path)).status).toBe(200);
		expect((await call(ada, "GET", path)).status).toBe(404);
	});

	it("see only their own conversations", async () => {
		const { call, create, createToken } = accounts();
		const [ada, ben] = [await createToken(["Workers AI Run"]), await createToken(["Workers AI Run"])];
		const { body } = await call(ada, "POST", "/conversations", {});
		expect((await call(ben, "GET", `/conversations/${body.id}`)).status).toBe(404);
		expect((await call(ben, "GET", `/conversations/${body.id}/items`)).status).toBe(404);
		expect((await create(ben, { conversation: body.id })).status).toBe(404);
		expect((await create(ada, { conversation: body.id })).status).toBe(200);
	});

	it.each(["constructor", "toString"])("get an id for an item of the unknown type %s", async (type) => {
		const { call, createToken } = accounts();
		const ada = await createToken(["Workers AI Run"]);
		const { body } = await call(ada, "POST", "/conversations", { items: [{ type }] });
		const listed = await call(ada, "GET", `/conversations/${body.id}/items`);
		expect(listed.body.data).toEqual([
			expect.objectContaining({ type, id: expect.stringMatching(/^item_[0-9a-f]{32}$/) }),
		]);
	});

	it("get their own items for the ids that they have chosen, also if another token has chosen the same one", async () => {
		const { call, create, createToken } = accounts();
		const [ada, ben, owner] = [
			await createToken(["Workers AI Run"]),
			await createToken(["Workers AI Run"]),
			await createToken(["Workers AI Write"]),
		];
		const message = (content: string) => ({ type: "message", id: "msg_1", role: "user", content });
		const reference = { type: "item_reference", id: "msg_1" };
		const conversationOf = async (token: string, item: object) =>
			(await call(token, "POST", "/conversations", { items: [item] })).body.id;
		const textOf = async (token: string, conversation: string) => {
			const { body } = await call(token, "GET", `/conversations/${conversation}/items`);
			return JSON.stringify(body.data);
		};
		const bens = await conversationOf(ben, message("Ben's"));
		const referring = await conversationOf(ben, reference);
		const response = await create(ben, { input: [reference] });
		await create(ada, { input: [message("Ada's secret")] });
		expect(await textOf(ben, referring)).toContain("Ben's");
		const inputs = await call(ben, "GET", `/responses/${response.body.id}/input_items`);
		expect(JSON.stringify(inputs.body)).toContain("Ben's");
		expect(JSON.stringify(inputs.body)).not.toContain("Ada's");
		const owners = await conversationOf(owner, reference);
		expect(await textOf(owner, owners)).toContain("Ada's secret");
		await call(ben, "DELETE", `/conversations/${bens}`);
		expect(await textOf(ben, referring)).toBe("[]");
		expect(await create(ben, { conversation: referring })).toMatchObject({
			status: 400,
			body: { error: { param: "input" } },
		});
	});

	it("see nothing of another account", async () => {
		const one = accounts();
		const other = accounts();
		const { body } = await one.create(await one.createToken(["Workers AI Run"]));
		const token = await other.createToken(["Workers AI Write"]);
		expect((await other.call(token, "GET", `/responses/${body.id}`)).status).toBe(404);
	});
});

/** The routes of one stored object, without the prefix of a gateway. */
const OBJECT_ROUTES = ROUTES.filter(({ path }) =>
	/\/:account\/ai\/v1\/(?:responses\/:response|conversations\/:conversation)/.test(path),
);
const BODIES: Readonly<Record<string, object>> = {
	"/conversations/:conversation": { metadata: { owner: "somebody else" } },
	"/conversations/:conversation/items": { items: [{ role: "user", content: "Hi" }] },
};
/** Fields of a request that refer to a stored object. */
const REFERENCES = [
	["/responses", "previous_response_id"],
	["/responses", "conversation"],
	["/responses", "input"],
	["/responses/input_tokens", "previous_response_id"],
	["/responses/input_tokens", "conversation"],
	["/responses/compact", "previous_response_id"],
] as const;

describe("every route of a stored object", () => {
	async function stored() {
		const gateway = closedGateway({ vars: ENGINE_VARS, fetch: engine() });
		const stranger = closedGateway({ vars: ENGINE_VARS, fetch: engine() });
		const owner = await gateway.createToken(["Workers AI Run"]);
		const as = (token: string) => async (method: string, path: string, body?: object) => {
			const response = await gateway.send(path, token, body ? json(method, body) : { method });
			return { status: response.status, text: await response.text() };
		};
		const mine = as(owner);
		const made = async (path: string, body: object): Promise<Body> =>
			JSON.parse((await mine("POST", `/ai/v1${path}`, body)).text) as Body;
		const response = await made("/responses", { model: MODEL, input: "My secret" });
		const conversation = await made("/conversations", { items: [{ role: "user", content: "My secret" }] });
		const items = JSON.parse((await mine("GET", `/ai/v1/conversations/${conversation.id}/items`)).text);
		const item: string = items.data[0].id;
		const paths = [
			`/ai/v1/responses/${response.id}`,
			`/ai/v1/responses/${response.id}/input_items`,
			`/ai/v1/conversations/${conversation.id}`,
			`/ai/v1/conversations/${conversation.id}/items`,
		];
		return {
			callers: {
				"a token that may only run": { call: as(await gateway.createToken(["Workers AI Run"])), status: 404 },
				"a token that may only read": {
					call: as(await gateway.createToken(["Workers AI Read"])),
					status: 404,
				},
				"a token of another account": {
					call: as(await stranger.createToken(["Workers AI Write"])),
					status: 403,
				},
				"no token": { call: as(""), status: 401 },
			},
			ids: { response: response.id, conversation: conversation.id, item },
			state: () => Promise.all(paths.map((path) => mine("GET", path))),
			/** With the id that its own account would have. */
			elsewhere: async (method: string, path: string, body?: object) =>
				(
					await stranger.send(
						path,
						await stranger.createToken(["Workers AI Write"]),
						body ? json(method, body) : { method },
					)
				).status,
		};
	}

	it("is closed to other callers, who change nothing and read nothing", async () => {
		const { callers, elsewhere, ids, state } = await stored();
		const before = await state();
		expect(before.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
		expect(OBJECT_ROUTES).toHaveLength(11);
		for (const { method, path } of OBJECT_ROUTES) {
			const own = path
				.slice(path.indexOf("/ai/v1"))
				.replace(/:response\{[^}]*\}/, ids.response)
				.replace(/:conversation\{[^}]*\}/, ids.conversation)
				.replace(":item", ids.item);
			const pattern = path.slice(path.indexOf("/ai/v1") + "/ai/v1".length).replace(/\{[^}]*\}/g, "");
			const body = method === "POST" ? (BODIES[pattern] ?? {}) : undefined;
			for (const [name, { call, status }] of Object.entries(callers)) {
				const answer = await call(method, own, body);
				expect([name, method, own, answer.status]).toEqual([name, method, own, status]);
				expect(answer.text).not.toContain("My secret");
			}
			expect([method, own, await elsewhere(method, own, body)]).toEqual([method, own, 404]);
		}
		expect(await state()).toEqual(before);
	});

	it("is closed to the requests of other callers that refer to it", async () => {
		const { callers, elsewhere, ids } = await stored();
		for (const [path, field] of REFERENCES) {
			const value = {
				previous_response_id: ids.response,
				conversation: ids.conversation,
				input: [{ type: "item_reference", id: ids.item }],
			}[field];
			const body = { model: MODEL, ...(field !== "input" && { input: "Hi" }), [field]: value };
			const refused = field === "conversation" ? 404 : 400;
			for (const [name, { call, status }] of Object.entries(callers)) {
				const answer = await call("POST", `/ai/v1${path}`, body);
				const expected = status === 404 ? refused : status;
				expect([name, path, field, answer.status, answer.text]).toEqual([
					...[name, path, field, expected],
					expect.not.stringContaining("My secret"),
				]);
			}
			expect([path, field, await elsewhere("POST", `/ai/v1${path}`, body)]).toEqual([path, field, refused]);
		}
	});
});

describe("an account", () => {
	/** `elapsed`: the milliseconds between two calls. */
	function bounded(
		bounds: Partial<{ maxBytes: number; maxResponses: number; retentionMs: number }>,
		elapsed = 60_000,
	) {
		const name = crypto.randomUUID();
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const services = testServices({ vars: ENGINE_VARS, fetch });
		const all = { maxBytes: 1e9, maxResponses: 1e6, retentionMs: 30 * 86_400_000, ...bounds };
		let now = 0;
		const storedResponses = new StoredResponses({
			object: () => storeCalls(env.RESPONSE_STORE, name),
			bounds: all,
			now: () => (now += elapsed),
		});
		const app = createApp({ ...services, storedResponses }, OPEN_ACCESS);
		const request = async (path: string, init?: RequestInit) => {
			const response = await app.request(`http://gateway/client/v4/accounts/local/ai/v1${path}`, init);
			return { status: response.status, body: await response.json<Body>() };
		};
		return {
			request,
			requests,
			create: (fields: object = {}) =>
				request("/responses", json("POST", { model: MODEL, input: "Hi", ...fields })),
			storedResponses,
			stub: (env.RESPONSE_STORE as DurableObjectNamespace<ResponseStoreObject>).getByName(name),
		};
	}

	it("that has reached its number of responses stores nothing further", async () => {
		const { create, request, requests } = bounded({ maxResponses: 1 }, 0);
		const first = await create();
		expect(first.status).toBe(200);
		expect(await create()).toMatchObject({
			status: 429,
			body: { error: { code: "insufficient_quota", message: expect.stringContaining("1 responses") } },
		});
		expect(requests).toHaveLength(1);
		expect((await create({ store: false })).status).toBe(200);
		expect((await request("/conversations", json("POST", {}))).status).toBe(429);
		await request(`/responses/${first.body.id}`, { method: "DELETE" });
		expect((await create()).status).toBe(200);
	});

	it("gets no answer that it has no room for: an engine is not called", async () => {
		const { create, requests } = bounded({ maxBytes: 20_000 }, 0);
		const input = "a".repeat(9_000);
		expect((await create({ input })).status).toBe(200);
		expect((await create({ input })).status).toBe(200);
		expect(await create({ input })).toMatchObject({
			status: 429,
			body: { error: { code: "insufficient_quota", message: expect.stringContaining("20000 bytes") } },
		});
		expect((await create({ input, store: false })).status).toBe(200);
		expect(requests).toHaveLength(3);
	});

	it("continues no conversation and no chain that is too large for an engine", async () => {
		const { create, request } = bounded({});
		const { body } = await request("/conversations", json("POST", {}));
		const large = { input: "a".repeat(6_000_000) };
		const first = await create({ ...large, conversation: body.id });
		const second = await create({ ...large, conversation: body.id });
		expect([first.status, second.status]).toEqual([200, 200]);
		const tooLarge = { status: 400, body: { error: { code: "context_length_exceeded" } } };
		expect(await create({ conversation: body.id })).toMatchObject(tooLarge);
		const chained = await create({ ...large, previous_response_id: first.body.id });
		expect(chained.status).toBe(200);
		expect(await create({ previous_response_id: chained.body.id })).toMatchObject(tooLarge);
	});

	it("forgets a response after its time, with its items", async () => {
		const { create, request, stub, storedResponses } = bounded({});
		const { body } = await create();
		const next = await create({ previous_response_id: body.id });
		await runInDurableObject(stub, (_, { storage }) => {
			storage.sql.exec("UPDATE responses SET expires_at = 1 WHERE id = ?", body.id);
		});
		expect((await request(`/responses/${body.id}`)).status).toBe(404);
		expect((await create({ previous_response_id: next.body.id })).body).toMatchObject({
			error: { code: "previous_response_not_found" },
		});
		await runDurableObjectAlarm(stub);
		expect(await storedResponses.usage("local")).toMatchObject({ responses: 1, items: 2 });
	});

	it("uses the space of deleted responses again", async () => {
		const { create, request, stub } = bounded({});
		const databaseBytes = () => runInDurableObject(stub, (_, { storage }) => storage.sql.databaseSize);
		const fill = async (): Promise<number> => {
			// The last one is longer than a row.
			const made = [];
			for (const length of [90_000, 90_000, 90_000, 1_500_000])
				made.push(await create({ input: "a".repeat(length) }));
			const full = await databaseBytes();
			for (const { body } of made) await request(`/responses/${body.id}`, { method: "DELETE" });
			return full;
		};
		const first = await fill();
		expect(first).toBeGreaterThan(1_700_000);
		expect(await fill()).toBe(first);
		expect(await fill()).toBe(first);
	});

	it("counts what it stores, and nothing after the deletions", async () => {
		const { create, request, storedResponses } = bounded({});
		const image = `data:image/png;base64,${"A".repeat(3_000_000)}`;
		const content = [
			{ type: "input_text", text: "What is this?" },
			{ type: "input_image", image_url: image },
		];
		const large = await create({ input: [{ role: "user", content }] });
		expect((await storedResponses.usage("local")).bytes).toBeGreaterThan(3_000_000);
		const items = await request(`/responses/${large.body.id}/input_items`);
		expect(items.body).toMatchObject({ data: [{ content: [{}, { image_url: image }] }] });
		const { body } = await request("/conversations", json("POST", {}));
		const second = await create({ conversation: body.id });
		for (const path of [
			`/responses/${large.body.id}`,
			`/conversations/${body.id}`,
			`/responses/${second.body.id}`,
		])
			await request(path, { method: "DELETE" });
		expect(await storedResponses.usage("local")).toEqual({
			bytes: 0,
			responses: 0,
			conversations: 0,
			items: 0,
		});
	});
});
