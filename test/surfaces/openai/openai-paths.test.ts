import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { BASE, completion, ENGINE_VARS, events, testGateway, upstream } from "../../gateway.ts";
import { ADMIN, closedGateway, json, UNAUTHENTICATED } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const MESSAGES = [{ role: "user" as const, content: "Hi" }];
const CHAT = { model: LLAMA, messages: MESSAGES };
/** 5,000 words beside a context window of 24,000 tokens. */
const LONG = "word ".repeat(40_000);

describe("a failure on an OpenAI route", () => {
	it("has OpenAI's error beside the v4 envelope", async () => {
		const { post } = testGateway();
		const response = await post("/v1/chat/completions", { messages: MESSAGES });
		expect(response.status).toBe(400);
		const message = "AiError: Bad input: Error: required properties at '/' are 'model'";
		expect(await response.json()).toEqual({
			errors: [{ code: 5006, message }],
			success: false,
			result: {},
			messages: [],
			error: { message, type: "invalid_request_error", param: "model", code: null },
		});
	});

	it.each([
		["/v1/chat/completions", 413],
		["/v1/completions", 413],
		["/v1/responses", 400],
	])("%s: an input that is too long is %i context_length_exceeded", async (path, status) => {
		const { post } = testGateway();
		const body = { model: LLAMA, messages: [{ role: "user", content: LONG }], prompt: LONG, input: LONG };
		const response = await post(path, path === "/v1/responses" ? { ...body, prompt: undefined } : body);
		expect(response.status).toBe(status);
		expect(await response.json()).toMatchObject({
			error: {
				code: "context_length_exceeded",
				type: "invalid_request_error",
				message: expect.stringContaining("context window limit"),
			},
		});
	});

	it.each([
		["/v1/chat/completions", "POST", 401, "authentication_error", "invalid_api_key"],
		["/v1/responses", "POST", 401, "authentication_error", "invalid_api_key"],
		["/v1/models", "GET", 401, "authentication_error", "invalid_api_key"],
	])("%s without a token, on both bases", async (path, method, status, type, code) => {
		const { send, account } = closedGateway();
		for (const base of ["http://gateway", `http://gateway/client/v4/accounts/${account}/ai`]) {
			const response = await send(`${base}${path}`, undefined, { method });
			expect(response.status).toBe(status);
			expect(await response.json()).toEqual({
				result: null,
				success: false,
				errors: [{ code: 10000, message: UNAUTHENTICATED }],
				messages: [],
				error: { message: UNAUTHENTICATED, type, param: null, code },
			});
		}
	});

	it("reports an unknown path and an unknown method", async () => {
		const { app } = testGateway();
		const unknown = await app.request(`${BASE}/v1/nothing`, { method: "POST" });
		expect(await unknown.json()).toMatchObject({
			errors: [{ code: 7000 }],
			error: { message: "No route for that URI", type: "invalid_request_error" },
		});
		const method = await app.request(`${BASE}/v1/chat/completions`);
		expect(method.status).toBe(405);
		expect(await method.json()).toMatchObject({
			errors: [{ code: 7001 }],
			error: { message: "GET not supported for requested URI." },
		});
	});

	it("has none on the other routes, which are the product's", async () => {
		const { post } = testGateway();
		const native = await post(`/run/${LLAMA}`, { nothing: 1 });
		expect(await native.json()).not.toHaveProperty("error");
	});

	it("shows its sentence in the openai SDK", async () => {
		const { app } = testGateway();
		const client = new OpenAI({
			apiKey: "none",
			baseURL: `${BASE}/v1`,
			maxRetries: 0,
			dangerouslyAllowBrowser: true,
			fetch: async (url, init) => app.request(String(url), init),
		});
		await expect(client.chat.completions.create({ ...CHAT, model: "@cf/a/b" })).rejects.toMatchObject({
			status: 400,
			message: expect.stringMatching(/^400 AiError: No such model: No such model @cf\/a\/b or task/),
			code: "model_not_found",
			param: "model",
			type: "invalid_request_error",
		});
	});

	it("fails a Responses stream with the code that Codex knows, where the engine finds the input too long", async () => {
		const { fetch } = upstream(() =>
			events(
				`data: ${JSON.stringify({ error: { message: "too long", code: "context_length_exceeded" } })}\n\n`,
			),
		);
		const vars = { ...ENGINE_VARS, ROUTES: { "*": [{ backend: "engine", model: "m" }] } };
		const { post } = testGateway({ vars, fetch });
		const response = await post("/v1/responses", { model: LLAMA, input: "Hi", stream: true });
		expect(await response.text()).toContain('"code":"context_length_exceeded"');
	});
});

describe("/v1 without an account", () => {
	const engine = () => {
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const vars = { ...ENGINE_VARS, ROUTES: { "*": [{ backend: "engine", model: "m" }] } };
		return { options: { vars, fetch }, requests };
	};

	it("is the token's own account", async () => {
		const { options } = engine();
		const { send, createToken, account } = closedGateway(options);
		const token = await createToken(["Workers AI Read"]);
		const response = await send("http://gateway/v1/chat/completions", token, json("POST", CHAT));
		expect(await response.json()).toMatchObject({ choices: [{ message: { content: "Hello" } }] });
		const usage = await send("/ai/usage/requests", ADMIN);
		expect(await usage.json()).toMatchObject({ result: [{ model: LLAMA }] });
		expect(account).not.toBe("local");
	});

	it("is that of the header of Azure's clients", async () => {
		const { options } = engine();
		const { send, createToken, account } = closedGateway(options);
		const token = await createToken(["Workers AI Read"]);
		for (const base of ["http://gateway", `http://gateway/client/v4/accounts/${account}/ai`]) {
			const call = (key: string) =>
				send(`${base}/v1/chat/completions`, undefined, {
					...json("POST", CHAT),
					headers: { "content-type": "application/json", "api-key": key },
				});
			expect(await (await call(token)).json()).toMatchObject({
				choices: [{ message: { content: "Hello" } }],
			});
			expect((await call(`${token.slice(0, -4)}0000`)).status).toBe(401);
		}
	});

	it.each([
		["/v1/responses", { model: LLAMA, input: "Hi" }, { object: "response" }],
		["/v1/messages", { ...CHAT, max_tokens: 9 }, { type: "message" }],
		["/v1/v1/messages", { ...CHAT, max_tokens: 9 }, { type: "message" }],
		["/v1/messages/count_tokens", CHAT, { input_tokens: expect.any(Number) }],
	])("has %s, and the account is local with ALLOW_ANONYMOUS", async (path, body, reply) => {
		const { app } = testGateway(engine().options);
		const response = await app.request(`http://gateway${path}`, json("POST", body));
		expect(response.status).toBe(200);
		expect(await response.json()).toMatchObject(reply);
	});

	it("lists models", async () => {
		const { app } = testGateway();
		const list = await app.request("http://gateway/v1/models");
		expect(await list.json()).toMatchObject({ object: "list" });
		const one = await app.request(`http://gateway/v1/models/${LLAMA}`);
		expect(await one.json()).toMatchObject({
			id: LLAMA,
			task: "Text Generation",
			context_window: 24_000,
			context_length: 24_000,
			capabilities: expect.arrayContaining(["function_calling"]),
		});
	});

	it("accepts Anthropic's x-api-key on its routes, and fails in Anthropic's format", async () => {
		const { send, createToken } = closedGateway(engine().options);
		const token = await createToken(["Workers AI Read"]);
		const body = json("POST", { ...CHAT, max_tokens: 9 });
		const headers = { "content-type": "application/json", "x-api-key": token };
		const answer = await send("http://gateway/v1/messages", undefined, { ...body, headers });
		expect(await answer.json()).toMatchObject({ type: "message" });
		const refused = await send("http://gateway/v1/messages", undefined, body);
		expect(await refused.json()).toMatchObject({ type: "error", error: { type: "authentication_error" } });
	});

	it("has the only account for the operator, or else reports the correct address", async () => {
		const { app, services } = closedGateway(engine().options);
		const ids: string[] = [];
		services.directory.list = async () => ({ accounts: ids.map((id) => ({ id, recordedAt: 0, place: id })) });
		const send = async () =>
			app.request("http://gateway/v1/chat/completions", {
				...json("POST", CHAT),
				headers: { "content-type": "application/json", authorization: `Bearer ${ADMIN}` },
			});
		const message =
			"The operator's token is good for every account: name one in the address, /client/v4/accounts/{account}/ai/v1/chat/completions";
		const none = await send();
		expect(none.status).toBe(400);
		expect(await none.json()).toMatchObject({ errors: [{ code: 1001, message }], error: { message } });
		ids.push("only-one");
		expect((await send()).status).toBe(200);
		ids.push("and-another");
		expect((await send()).status).toBe(400);
	});
});

describe("a wrong base address", () => {
	const LOCAL = "/client/v4/accounts/local";
	it.each([
		["POST", `${LOCAL}/v1/chat/completions`, `${LOCAL}/ai/v1/chat/completions`],
		["POST", `${LOCAL}/ai/chat/completions`, `${LOCAL}/ai/v1/chat/completions`],
		["POST", `${LOCAL}/responses/`, `${LOCAL}/ai/v1/responses`],
		["POST", `${LOCAL}/ai/v1/v1/embeddings`, `${LOCAL}/ai/v1/embeddings`],
		["GET", `${LOCAL}/v1/models`, `${LOCAL}/ai/v1/models`],
		["POST", `${LOCAL}/v1/messages`, `${LOCAL}/ai/v1/messages`],
		["POST", "/chat/completions", "/v1/chat/completions"],
		["POST", "/v1/chat/completion", "/v1/chat/completions"],
		["POST", "/v1/audio/transcription", "/v1/audio/transcriptions"],
		["GET", "/v1/file/file-1", "/v1/files/file-1"],
		["POST", "/v1/batches/batch_1/cancell", "/v1/batches/batch_1/cancel"],
		["POST", "/v1/messages/count_token", "/v1/messages/count_tokens"],
		["POST", "/api/v1/chat/completions", "/v1/chat/completions"],
		["POST", `${LOCAL}/ai/v1//chat/completions`, `${LOCAL}/ai/v1/chat/completions`],
		["POST", `${LOCAL}/ai/v1/chat/completion`, `${LOCAL}/ai/v1/chat/completions`],
		["POST", `${LOCAL}/ai/v1/chat/completions/chat/completions`, `${LOCAL}/ai/v1/chat/completions`],
		["POST", `${LOCAL}/ai/v1/messages/v1/messages`, `${LOCAL}/ai/v1/messages`],
		["POST", `${LOCAL}/v1beta/models/m:generateContent`, `${LOCAL}/ai/v1beta/models/m:generateContent`],
	])("%s %s is refused with the correct one", async (method, path, address) => {
		const { app } = testGateway();
		const response = await app.request(
			`http://gateway${path}`,
			json(method, method === "GET" ? undefined : CHAT),
		);
		const message = `No route for that URI: the address is ${address}`;
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ errors: [{ code: 7000, message }], error: { message } });
	});

	it.each([
		["POST", "/v1/chat/completion"],
		["POST", "/v1/modles"],
		["POST", "/v1/batches/batch_1/cancell"],
		["POST", "/v1/responses/compact"],
		["POST", "/v1/threads/thread_1/runs"],
	])("%s %s without a token is refused in OpenAI's format", async (method, path) => {
		const { send } = closedGateway();
		const response = await send(`http://gateway${path}`, undefined, { method });
		expect(response.status).toBe(401);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 10000, message: UNAUTHENTICATED }],
			error: { message: UNAUTHENTICATED, type: "authentication_error", code: "invalid_api_key" },
		});
	});

	it.each(["/v1/acme/default", "/v1/acme/default/openai/chat/completions"])(
		"POST %s, an address of a gateway, is refused in its format",
		async (path) => {
			const { send } = closedGateway();
			const response = await send(`http://gateway${path}`, undefined, { method: "POST" });
			expect(response.status).toBe(401);
			expect(await response.json()).toMatchObject({ error: [{ code: 2009 }] });
		},
	);

	it("gets no address if no route matches; a missing token is refused first", async () => {
		const { app } = testGateway();
		const other = await app.request(`http://gateway${LOCAL}/v1/answers`, json("POST", CHAT));
		expect(await other.json()).toMatchObject({ errors: [{ message: "No route for that URI" }] });
		const { send } = closedGateway();
		expect((await send(`http://gateway${LOCAL}/v1/chat/completions`)).status).toBe(401);
	});
});

describe("requests that check whether a server exists", () => {
	const account = "/client/v4/accounts/local/ai";
	it.each(["/", "/v1", "/v1/", "/v1beta", account, `${account}/v1`, `${account}/v1beta`])(
		"HEAD %s is 204, also without a token",
		async (path) => {
			const { app } = closedGateway();
			const response = await app.request(`http://gateway${path}`, { method: "HEAD" });
			expect(response.status).toBe(204);
		},
	);

	it("a websocket on /responses is accepted, and another GET is 405", async () => {
		const { app } = testGateway();
		const upgrade = await app.request(`${BASE}/v1/responses`, { headers: { upgrade: "websocket" } });
		expect(upgrade.status).toBe(101);
		expect((await app.request(`${BASE}/v1/responses`)).status).toBe(405);
	});
});
