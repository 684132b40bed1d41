/** Aliases of models: the API, and their use at every entry point. */
import { describe, expect, it } from "vitest";
import { completion, testGateway, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, failureOf, json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user", content: "hi" }];
const VARS = { DEFAULT_BACKEND: "simulator", ALIASES: { fast: LLAMA, accounts: { local: { mine: LLAMA } } } };

describe("an alias", () => {
	const { post, get, app } = testGateway({ vars: VARS });

	it.each([
		["/run/fast", { messages: MESSAGES }],
		["/run/mine", { messages: MESSAGES }],
		["/run", { model: "fast", input: { messages: MESSAGES } }],
		["/v1/chat/completions", { model: "fast", messages: MESSAGES }],
		["/v1/responses", { model: "fast", input: "hi" }],
		["/v1/messages", { model: "fast", max_tokens: 9, messages: MESSAGES }],
		["/v1/messages/count_tokens", { model: "fast", messages: MESSAGES }],
	])("is accepted as a model at %s", async (path, body) => {
		const response = await post(path, body);
		expect(response.status).toBe(200);
		const text = await response.text();
		if (/v1\/(chat|responses|messages$)/.test(path)) expect(text).toContain(`"model":"${LLAMA}"`);
	});

	it("is accepted as a model in a step of AI Gateway", async () => {
		const steps = [{ provider: "workers-ai", endpoint: "fast", headers: {}, query: { prompt: "hi" } }];
		const response = await app.request("http://gateway/v1/local/default", {
			method: "POST",
			body: JSON.stringify(steps),
			headers: { "content-type": "application/json" },
		});
		expect(response.status).toBe(200);
	});

	it("is explained with its model", async () => {
		const { result } = await (await post("/explain/fast", { messages: MESSAGES })).json<{ result: object }>();
		expect(result).toMatchObject({ alias: "fast", model: LLAMA, refused: [] });
		const own = await (await post(`/explain/${LLAMA}`, { messages: MESSAGES })).json<{ result: object }>();
		expect(own.result).not.toHaveProperty("alias");
	});

	it("is listed with the context window of its model", async () => {
		const { data } = await (await get("/v1/models")).json<{ data: { id: string }[] }>();
		expect(data.slice(0, 2)).toEqual([
			{ ...data.find(({ id }) => id === LLAMA), id: "fast", alias_of: LLAMA },
			{ ...data.find(({ id }) => id === LLAMA), id: "mine", alias_of: LLAMA },
		]);
		expect(data[0]).toMatchObject({ object: "model", context_window: 24_000 });
		expect(await (await get("/v1/models/fast")).json()).toEqual(data[0]);
	});

	it("of another account is refused like an unknown name", async () => {
		const url = (model: string) => `http://gateway/client/v4/accounts/other/ai/run/${model}`;
		for (const model of ["mine", "nothing"])
			expect(await failureOf(await app.request(url(model), json("POST", { messages: MESSAGES })))).toBe(
				"400 7000: No route for that URI",
			);
	});

	it("goes to the engine that serves its model", async () => {
		const engine = upstream(() => Response.json(completion("hello")));
		const gateway = testGateway({
			vars: {
				BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
				ROUTES: { "own/*": [{ backend: "engine" }] },
				ALIASES: { "gpt-4o": "own/model" },
			},
			fetch: engine.fetch,
		});
		const reply = await gateway.post("/v1/chat/completions", { model: "gpt-4o", messages: MESSAGES });
		expect(reply.status).toBe(200);
		expect(await engine.requests[0]?.json()).toMatchObject({ model: "own/model" });
	});
});

describe("the API", () => {
	const gateway = closedGateway({ vars: VARS });
	const { send, createToken } = gateway;
	const put = (alias: string, model: unknown, token = ADMIN) =>
		send(`/ai/aliases/${alias}`, token, json("PUT", { model }));
	const run = (model: string, token: string) =>
		send(`/ai/v1/chat/completions`, token, json("POST", { model, messages: MESSAGES }));

	it("sets, lists, reads, uses and deletes", async () => {
		const token = await createToken(["Workers AI Write", "Workers AI Read"]);
		expect((await run("team/best", token)).status).toBe(404);
		const set = await put("team/best", LLAMA, token);
		expect(set.status).toBe(200);
		const { result } = await set.json<{ result: { modified_on: string } }>();
		expect(result).toEqual({
			alias: "team/best",
			model: LLAMA,
			source: "account",
			modified_on: expect.stringMatching(/^\d{4}-.*Z$/),
		});
		expect((await run("team/best", token)).status).toBe(200);
		expect((await run("team%2Fbest", token)).status).toBe(400);
		expect((await send("/ai/run/team/best", token, json("POST", { messages: MESSAGES }))).status).toBe(200);
		expect((await (await send("/ai/aliases/team%2Fbest", token)).json<{ result: object }>()).result).toEqual(
			result,
		);
		const { result: all } = await (await send("/ai/aliases", token)).json<{ result: object[] }>();
		expect(all).toEqual([
			{ alias: "fast", model: LLAMA, source: "configuration", modified_on: null },
			result,
		]);
		expect((await send("/ai/aliases/team/best", token, { method: "DELETE" })).status).toBe(200);
		expect((await run("team/best", token)).status).toBe(404);
		for (const method of ["GET", "DELETE"]) {
			expect(await failureOf(await send("/ai/aliases/team/best", token, { method }))).toBe(
				'404 7002: Alias not found: "team/best"',
			);
			expect(await failureOf(await send("/ai/aliases/fats", token, { method }))).toBe(
				'404 7002: Alias not found: "fats"; did you mean "fast"?',
			);
		}
	});

	it("requires a token that may write to set aliases, and one that may read to list them", async () => {
		const read = await createToken(["Workers AI Metadata Read"]);
		expect((await put("a", LLAMA, read)).status).toBe(403);
		expect((await send("/ai/aliases/a", read, { method: "DELETE" })).status).toBe(403);
		expect((await send("/ai/aliases", read)).status).toBe(200);
		expect((await send("/ai/aliases", undefined)).status).toBe(401);
	});

	it.each<[string, unknown, string]>([
		["fast", LLAMA, "alias: it is set in ALIASES, the operator's configuration"],
		[LLAMA, LLAMA, "alias: expected a new name, found the id of a model"],
		["a", "fast", 'alias: expected the id of a model, found the alias "fast"'],
		["a", "a", 'alias: expected the id of a model, found the alias "a"'],
		["a", "@cf/moonshotai/kimi-k2.66", '; did you mean "@cf/moonshotai/kimi-k2.6"?'],
		["a", 5, "model: expected text, found a number"],
	])("refuses %s for %j", async (alias, model, sentence) => {
		const failure = await failureOf(await put(alias, model));
		expect(failure).toMatch(/^400 1001: /);
		expect(failure).toContain(sentence);
	});

	it("takes 200 aliases, and no more", async () => {
		const other = closedGateway({ vars: VARS });
		const ledger = other.services.ledgers.of(other.account);
		const operator = { kind: "operator" } as const;
		for (let i = 0; i < 200; i++)
			expect(await ledger.setAlias(operator, { alias: `a${i}`, model: LLAMA, modified_on: 1 })).toBe(true);
		expect(await failureOf(await other.send("/ai/aliases/b", ADMIN, json("PUT", { model: LLAMA })))).toBe(
			"400 1001: An account may set 200 aliases",
		);
		expect((await other.send("/ai/aliases/a7", ADMIN, json("PUT", { model: LLAMA }))).status).toBe(200);
	});
});
