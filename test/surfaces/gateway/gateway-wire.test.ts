import { describe, expect, it } from "vitest";
import { withTrace } from "../../../src/outbound/passed-headers.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	type TestOptions,
	testGateway,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";
import { ADMIN, closedGateway, failureOf, json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const ORIGIN = "https://workers-binding.ai";
const UUID = /^[0-9a-f-]{36}$/;

function gateway(options: TestOptions = {}) {
	const app = wireOf(testServices(options));
	const send = async (path: string, init?: RequestInit): Promise<Response> =>
		app.fetch(new Request(`${ORIGIN}${path}`, init), { caller: { ...CALLER, account: "team a" } });
	return {
		send,
		run: (steps: unknown, headers: Record<string, string> = {}, id = "my-gateway") =>
			send(`/ai-gateway/universal/run/${id}`, {
				method: "POST",
				headers: { "content-type": "application/json", ...headers },
				body: typeof steps === "string" ? steps : JSON.stringify(steps),
			}),
	};
}

const engine = (reply: () => Response) => gateway({ vars: ENGINE_VARS, fetch: upstream(reply).fetch });
const hello = () => engine(() => Response.json(completion("Hello")));

const step = (endpoint: string, query: unknown, provider = "workers-ai") => ({
	provider,
	endpoint,
	// A key of another provider would be used.
	headers: provider === "workers-ai" ? { authorization: "Bearer x" } : {},
	query,
});
const chat = (model: string) => ({ model, messages: [{ role: "user", content: "Hi" }] });

describe("universal run", () => {
	it.each([LLAMA, `run/${LLAMA}`, `/run/${LLAMA}?x=1`, `run/${LLAMA.replaceAll("/", "%2F")}`])(
		"answers the native route %s in the v4 envelope, with the gateway's headers",
		async (endpoint) => {
			const response = await hello().run([step(endpoint, { prompt: "Hi" })]);
			expect(response.status).toBe(200);
			expect(await response.json()).toEqual({
				result: {
					response: "Hello",
					tool_calls: [],
					usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, neurons: 0.09 },
				},
				success: true,
				errors: [],
				messages: [],
			});
			const { headers } = response;
			expect(headers.get("cf-aig-step")).toBe("0");
			expect(headers.get("cf-aig-cache-status")).toBe("MISS");
			expect(headers.get("cf-aig-event-id")).toMatch(UUID);
			expect(headers.get("cf-aig-request-id")).toBe(headers.get("cf-aig-event-id"));
			expect(headers.get("cf-ai-req-id")).toMatch(UUID);
			expect(headers.get("cf-aig-log-id")).toBe(headers.get("cf-aig-request-id"));
		},
	);

	it("gives an engine the trace of its step, or else that of the request", async () => {
		const traces = ["1", "2"].map((digit) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`);
		const [ofRequest, ofStep] = traces;
		const { fetch, requests } = upstream(() => Response.json({ error: { message: "no" } }, { status: 400 }));
		const { run } = gateway({ vars: ENGINE_VARS, fetch });
		const steps = [ofStep, "00-0-0-01", undefined].map((traceparent) => ({
			...step(LLAMA, { prompt: "Hi" }),
			headers: { authorization: "Bearer x", ...(traceparent !== undefined && { traceparent }) },
		}));
		const received = async (trace: string | undefined) => {
			requests.length = 0;
			await (await withTrace(trace, () => run(steps))).text();
			return requests.map(({ headers }) => headers.get("traceparent"));
		};
		expect(await received(ofRequest)).toEqual([ofStep, ofRequest, ofRequest]);
		expect(await received(undefined)).toEqual([ofStep, null, null]);
	});

	it("answers OpenAI's routes without the envelope", async () => {
		const response = await hello().run([step("v1/chat/completions", chat(LLAMA))]);
		expect(await response.json()).toMatchObject({
			object: "chat.completion",
			model: LLAMA,
			choices: [{ message: { role: "assistant", content: "Hello" } }],
		});
		const embedded = await gateway().run([
			step("v1/embeddings", { model: "@cf/baai/bge-small-en-v1.5", input: "Hi" }),
		]);
		expect(await embedded.json()).toMatchObject({ object: "list", data: [{ index: 0 }] });
	});

	it("answers compat for model ids with a provider", async () => {
		const { run } = hello();
		const answered = await run([step("chat/completions", chat(`workers-ai/${LLAMA}`), "compat")]);
		expect(await answered.json()).toMatchObject({ object: "chat.completion", model: LLAMA });
		const refused = await run([step("chat/completions", chat("gpt-5"), "compat")]);
		expect(await refused.json()).toMatchObject({ internalCode: 2008 });
	});

	it.each([
		["compat", "chat/completions", "openai/gpt-5", "gpt-5"],
		["compat", "v1/chat/completions", "grok/grok-4", "grok-4"],
		["openai", "chat/completions", "gpt-5", "gpt-5"],
		["openai", "v1/chat/completions", "gpt-5", "gpt-5"],
		["grok", "v1/chat/completions", "grok-4", "grok-4"],
	])("%s/%s runs %s by the provider's own key", async (provider, endpoint, model, engineModel) => {
		const fakeEngine = upstream(() => Response.json(completion("Hello")));
		const vars = { PROVIDER_KEYS: { openai: "KEY", xai: "KEY" }, KEY: "sk-provider" };
		const response = await gateway({ vars, fetch: fakeEngine.fetch }).run([
			step(endpoint, chat(model), provider),
		]);
		expect(await response.json()).toMatchObject({
			object: "chat.completion",
			choices: [{ message: { content: "Hello" } }],
		});
		const [request] = fakeEngine.requests;
		expect(request?.headers.get("authorization")).toBe("Bearer sk-provider");
		expect(await request?.json()).toMatchObject({ model: engineModel });
	});

	it("answers Anthropic's Messages and their failures in Anthropic's format", async () => {
		const { run } = engine(() => Response.json(completion("Hello")));
		const body = { ...chat("claude-haiku-4.5"), max_tokens: 9 };
		const response = await run([step("v1/messages", body, "anthropic")]);
		expect(await response.json()).toMatchObject({
			type: "message",
			content: [{ type: "text", text: "Hello" }],
		});
		const refused = await run([step("v1/messages", chat("claude-haiku-4.5"), "anthropic")]);
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
	});

	it("answers Gemini's methods and their failures in Google's format", async () => {
		const { run } = engine(() => events(delta("Hel"), delta("lo"), finish(), usage(), DONE));
		const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
		const of = (method: string, fields: object = { contents }) =>
			run([step(`v1beta/models/gemini-3-flash:${method}`, fields, "google-ai-studio")]);
		const complete = engine(() => Response.json(completion("Hello"))).run;
		const generated = await complete([
			step("v1/models/gemini-3-flash:generateContent", { contents }, "google-ai-studio"),
		]);
		expect(await generated.json()).toMatchObject({
			candidates: [{ content: { role: "model", parts: [{ text: "Hello" }] }, finishReason: "STOP" }],
			modelVersion: "google/gemini-3-flash",
		});
		expect(generated.headers.get("cf-aig-step")).toBe("0");
		const streamed = await of("streamGenerateContent?alt=sse");
		expect(streamed.headers.get("content-type")).toBe("text/event-stream");
		expect(await streamed.text()).toMatch(/^data: \{"candidates":.*"Hel".*\n\ndata: .*"lo"/);
		const array = (await (await of("streamGenerateContent")).json()) as unknown[];
		expect(array.length).toBeGreaterThan(1);
		expect(await (await of("countTokens")).json()).toEqual({ totalTokens: expect.any(Number) });
		const refused = await of("generateContent", { contents: "Hi" });
		expect(refused.status).toBe(400);
		expect(await refused.json()).toMatchObject({ error: { code: 400, status: "INVALID_ARGUMENT" } });
		const absent = await of("embedContent");
		expect(await absent.json()).toMatchObject({ error: { code: 404, status: "NOT_FOUND" } });
	});

	it("sends the steps of one session to one replica", async () => {
		const fakeEngine = upstream(() => Response.json(completion("Hello")));
		const replicas = { kind: "openai", urls: ["http://a/v1", "http://b/v1", "http://c/v1"] };
		const { run } = gateway({
			vars: { BACKENDS: { engine: replicas }, DEFAULT_BACKEND: "engine" },
			fetch: fakeEngine.fetch,
		});
		const mine = { ...step(LLAMA, { prompt: "Hi" }), headers: { "X-Session-Affinity": "session-1" } };
		for (let turn = 0; turn < 6; turn++) await run([mine]);
		expect(new Set(fakeEngine.requests.map(({ url }) => new URL(url).host)).size).toBe(1);
	});

	it("refuses a provider without a key as the product refuses an account without credits", async () => {
		const response = await gateway({ vars: {} }).run([step("chat/completions", chat("gpt-5"), "openai")]);
		expect(response.status).toBe(402);
		expect(await response.json()).toMatchObject({ name: "AiGatewayError", internalCode: 2021 });
	});

	it("passes events and bytes through", async () => {
		const { run } = engine(() => events(delta("Hi"), finish(), usage(), DONE));
		const native = await run([step(LLAMA, { prompt: "Hi", stream: true })]);
		expect(native.headers.get("content-type")).toBe("text/event-stream");
		expect(native.headers.get("cf-aig-step")).toBe("0");
		expect(await native.text()).toMatch(/^data: \{"response":"Hi"[\s\S]*data: \[DONE\]\n\n$/);
		const open = await run([step("v1/chat/completions", { ...chat(LLAMA), stream: true })]);
		expect(await open.text()).toMatch(/"object":"chat.completion.chunk"[\s\S]*data: \[DONE\]\n\n$/);
		const speech = await gateway().run([step("@cf/deepgram/aura-1", { text: "Good morning." })]);
		expect(speech.headers.get("content-type")).toBe("audio/mpeg");
	});

	it("takes one step that is not in a list", async () => {
		expect((await hello().run(step(LLAMA, { prompt: "Hi" }))).status).toBe(200);
	});

	it("repeats a failed step as often as its headers allow, each attempt with its own request id", async () => {
		const statuses = [400, 503, 503, 503, 503];
		const fakeEngine = upstream(() => {
			const status = statuses.shift();
			return status
				? Response.json({ error: { message: "busy" } }, { status })
				: Response.json(completion("Hello"));
		});
		const ROUTES = { "*": { targets: [{ backend: "engine" }], retries: { attempts: 1 } } };
		const { run } = gateway({ vars: { ...ENGINE_VARS, ROUTES }, fetch: fakeEngine.fetch });
		const headers = { "cf-aig-max-attempts": 5, "cf-aig-retry-delay": 0 };
		const failed = await run([{ ...step(LLAMA, { prompt: "Hi" }), headers }]);
		expect(failed.status).toBe(400);
		const response = await run([{ ...step(LLAMA, { prompt: "Hi" }), headers }]);
		expect(response.status).toBe(200);
		expect(fakeEngine.requests.length).toBe(6);
	});

	it("tries the steps in order until one succeeds", async () => {
		const response = await gateway().run([
			step("v1/chat/completions", {}, "openai"),
			step("@cf/meta/nothing", { prompt: "Hi" }),
			step(LLAMA, { prompt: ["not", "a", "prompt"] }),
			step(LLAMA, { prompt: "Hi" }),
			step(LLAMA, { prompt: "never sent" }),
		]);
		expect(response.status).toBe(200);
		expect(response.headers.get("cf-aig-step")).toBe("3");
	});

	it("answers the last failure when every step fails", async () => {
		const response = await gateway().run([
			step("chat/completions", {}, "openai"),
			step("@cf/meta/nothing", { prompt: "Hi" }),
		]);
		expect(response.status).toBe(400);
		expect(response.headers.get("cf-aig-step")).toBe("1");
		expect(await response.json()).toMatchObject({
			errors: [{ code: 5007, message: expect.stringContaining("No such model @cf/meta/nothing or task") }],
			success: false,
			result: {},
		});
	});

	it("refuses an unknown provider in AI Gateway's own format", async () => {
		const message = 'Invalid provider: "no-such-provider" is unknown';
		const response = await hello().run([step("chat/completions", chat("gpt-5"), "no-such-provider")]);
		expect(response.status).toBe(400);
		expect(await response.json()).toEqual({
			success: false,
			result: [],
			messages: [],
			error: [{ code: 2008, message }],
			name: "AiGatewayError",
			httpCode: 400,
			internalCode: 2008,
			message,
			description: message,
		});
	});

	it.each([
		["compat", "chat/completions", '"gpt-5" does not begin with a provider (example: openai/gpt-5)'],
		["compat", "models", '"models" is not a route of compat'],
		["chat", "completions", '"chat" is unknown; did you mean "compat/chat"?'],
		["v1", "chat/completions", '"v1" is unknown; did you mean "compat/v1"?'],
		["opnai", "chat/completions", '"opnai" is unknown; did you mean "openai"?'],
		["gemini", "v1beta/models/m", '"gemini" is unknown; did you mean "google-ai-studio"?'],
		["azure", "chat/completions", '"azure" is unknown; did you mean "azure-openai"?'],
		["workersai", LLAMA, '"workersai" is unknown; did you mean "workers-ai"?'],
		["@cf", "meta/llama", '"@cf" is unknown; did you mean "workers-ai/@cf"?'],
		["custom-none", "chat", '"custom-none" is not an enabled custom provider of the account'],
	])("refuses %s/%s with the reason", async (provider, endpoint, reason) => {
		const response = await hello().run([step(endpoint, chat("gpt-5"), provider)]);
		expect(await response.json()).toMatchObject({
			internalCode: 2008,
			description: `Invalid provider: ${reason}`,
		});
	});

	it.each([
		[
			"compat",
			"chat/completions",
			LLAMA,
			'Invalid provider: "@cf" is unknown; did you mean "workers-ai/@cf"?',
		],
		[
			"workers-ai",
			"chat/completions",
			LLAMA,
			'Model not found: chat/completions; did you mean "v1/chat/completions"?',
		],
	])("refuses %s/%s with the model %s", async (provider, endpoint, model, description) => {
		const response = await hello().run([step(endpoint, chat(model), provider)]);
		expect(await response.json()).toMatchObject({ description });
	});

	it.each([
		[{}, "required properties at '/' are 'model,messages'"],
		[{ model: `workers-ai/${LLAMA}` }, "required properties at '/' are 'model,messages'"],
		[{ model: 5, messages: [] }, "Type mismatch of '/model', 'string' not in 'number','integer'"],
		[
			{ ...chat(`workers-ai/${LLAMA}`), messages: "Hi" },
			"Type mismatch of '/messages', 'array' not in 'string'",
		],
	])("refuses %j as a chat of compat", async (body, finding) => {
		const response = await hello().run([step("chat/completions", body, "compat")]);
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			name: "AiGatewayError",
			internalCode: 2019,
			description: `Chat completion bad format: ${finding}`,
		});
	});

	it("repeats the event id of the step, or else of the request, if it is a valid header", async () => {
		const { run } = hello();
		const of = async (steps: object[], headers?: Record<string, string>) =>
			(await run(steps, headers)).headers.get("cf-aig-event-id");
		const mine = step(LLAMA, { prompt: "Hi" });
		expect(await of([mine], { "cf-aig-event-id": "event-1" })).toBe("event-1");
		const stepWithId = { ...mine, headers: { "CF-AIG-Event-Id": "event-2" } };
		expect(await of([stepWithId], { "cf-aig-event-id": "event-1" })).toBe("event-2");
		expect(await of([{ ...mine, headers: { "cf-aig-event-id": "a\nb" } }])).toMatch(UUID);
	});

	it.each([
		["no steps", [], 400, 5006],
		["a step without an endpoint", [{ provider: "workers-ai", headers: {}, query: {} }], 400, 5006],
		["what is not JSON", "[", 400, 5006],
		["what is too large", `["${"x".repeat(10_000_001)}"]`, 413, 3006],
	])("refuses %s", async (_, steps, status, internalCode) => {
		const response = await hello().run(steps);
		expect(response.status).toBe(status);
		expect(await response.json()).toMatchObject({ name: "AiGatewayError", internalCode, success: false });
	});

	it("reports the maximum number of steps", async () => {
		const refused = Array.from({ length: 33 }, () => step("run/@cf/no/such", {}));
		expect(await (await hello().run(refused)).json()).toMatchObject({
			internalCode: 5006,
			message: "Error: maxItems at '/' is 32, got 33",
		});
		expect((await hello().run(refused.slice(1))).headers.get("cf-aig-step")).toBe("31");
	});

	it("refuses an invalid gateway id", async () => {
		const response = await hello().run([step(LLAMA, { prompt: "Hi" })], {}, "x".repeat(65));
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			internalCode: 2001,
			error: [
				{
					code: 2001,
					message: `Please configure AI Gateway: the account has no gateway "${"x".repeat(64)}…". POST …/ai-gateway/gateways creates one (docs/gateways.md)`,
				},
			],
		});
	});

	it("stops when the caller has disconnected", async () => {
		const fakeEngine = upstream(() => Response.json(completion("Hello")));
		const { send } = gateway({ vars: ENGINE_VARS, fetch: fakeEngine.fetch });
		const disconnected = new AbortController();
		disconnected.abort();
		const response = await send("/ai-gateway/universal/run/g", {
			method: "POST",
			signal: disconnected.signal,
			body: JSON.stringify([step(LLAMA, { prompt: "Hi" }), step(LLAMA, { prompt: "Hi" })]),
		}).catch(() => undefined);
		if (response) expect(response.headers.get("cf-aig-step")).toBe("0");
		expect(fakeEngine.requests).toEqual([]);
	});
});

describe("a gateway's address", () => {
	const { send } = hello();
	const urlOf = async (provider: string) =>
		(await (await send(`/ai-gateway/gateways/my-gateway/url/${provider}`)).json()) as {
			result: { url: string };
		};

	it("names the account, the gateway and the provider", async () => {
		expect(await urlOf("workers-ai")).toEqual({
			success: true,
			result: { url: "https://ganglion.invalid/v1/team%20a/my-gateway/workers-ai" },
		});
		expect(await urlOf("universal")).toEqual({
			success: true,
			result: { url: "https://ganglion.invalid/v1/team%20a/my-gateway/" },
		});
		expect(await urlOf("custom-acme")).toMatchObject({
			result: { url: "https://ganglion.invalid/v1/team%20a/my-gateway/custom-acme" },
		});
	});

	it("is refused for an unknown provider", async () => {
		const response = await send("/ai-gateway/gateways/my-gateway/url/opnai");
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({
			errors: [{ code: 2008, message: 'Invalid provider: "opnai" is unknown; did you mean "openai"?' }],
		});
	});

	it("is answered by the fetch of the binding", async () => {
		const post = async (url: string, body: unknown) => {
			const { pathname } = new URL(url);
			return send(pathname, {
				method: "POST",
				headers: { "content-type": "application/json" },
				body: JSON.stringify(body),
			});
		};
		const { url } = (await urlOf("workers-ai")).result;
		expect(await (await post(`${url}/${LLAMA}`, { prompt: "Hi" })).json()).toMatchObject({
			result: { response: "Hello" },
			success: true,
		});
		expect(await (await post(`${url}/v1/chat/completions`, chat(LLAMA))).json()).toMatchObject({
			object: "chat.completion",
		});
		const universal = (await urlOf("universal")).result.url;
		expect((await post(universal, [step(LLAMA, { prompt: "Hi" })])).status).toBe(200);
		const others = await post(url.replace("team%20a", "team-b").concat(`/${LLAMA}`), { prompt: "Hi" });
		expect(others.status).toBe(404);
		expect(await others.json()).toMatchObject({ errors: [{ code: 7003 }, { code: 7000 }] });
	});
});

describe("a provider's address on the binding", () => {
	const GATEWAYS = "/ai-gateway/gateways/my-gateway";
	const post = (body: object, headers: Record<string, string> = {}): RequestInit => ({
		method: "POST",
		headers: { "content-type": "application/json", ...headers },
		body: JSON.stringify(body),
	});
	const MESSAGES = [{ role: "user", content: "Hi" }];

	it.each([
		[
			"openai/v1/chat/completions",
			{ model: "gpt-5.6-sol", messages: MESSAGES },
			{ object: "chat.completion" },
		],
		["openai/v1/responses", { model: "gpt-5.6-sol", input: "Hi" }, { object: "response" }],
		[
			"anthropic/v1/messages",
			{ model: "claude-opus-5-5", max_tokens: 64, messages: MESSAGES },
			{ type: "message" },
		],
		[
			"google-ai-studio/v1beta/models/gemini-3.8-flash:generateContent",
			{ contents: [{ parts: [{ text: "Hi" }] }] },
			{ candidates: [{ content: { parts: [{ text: "Hello" }] } }] },
		],
		["workers-ai/v1/chat/completions", chat(LLAMA), { object: "chat.completion" }],
		["compat/chat/completions", chat("openai/gpt-5.6-sol"), { object: "chat.completion" }],
	])("runs the model that %s names", async (endpoint, body, answer) => {
		const response = await hello().send(`${GATEWAYS}/${endpoint}`, post(body));
		expect(await response.json()).toMatchObject(answer);
		expect(response.status).toBe(200);
		expect(response.headers.get("cf-aig-log-id")).toMatch(UUID);
	});

	it.each(["GET", "PUT", "PATCH", "DELETE"])("runs no model for %s", async (method) => {
		const { fetch, requests } = upstream(() => Response.json(completion("Hello")));
		const { send } = gateway({ vars: ENGINE_VARS, fetch });
		for (const [endpoint, body] of [
			[`workers-ai/${LLAMA}`, { prompt: "Hi" }],
			["workers-ai/v1/chat/completions", chat(LLAMA)],
			["compat/chat/completions", chat(`workers-ai/${LLAMA}`)],
		] as const) {
			const { body: sent, headers } = post(body);
			const init = { method, headers, ...(method !== "GET" && { body: sent }) };
			const response = await send(`${GATEWAYS}/${endpoint}`, init as RequestInit);
			expect(await failureOf(response)).toBe(
				`405 7001: ${method} not supported for requested URI: send a POST request.`,
			);
		}
		expect(requests).toEqual([]);
	});

	it("passes other endpoints, and requests with the vendor's key, to the vendor unchanged", async () => {
		const vendor = upstream(() => Response.json({ object: "list", data: [] }));
		const { send } = gateway({ vars: {}, fetch: vendor.fetch });
		const headers = { authorization: "Bearer sk-of-the-caller-0123456789", "cf-aig-event-id": "event-1" };
		const answer = await send(`${GATEWAYS}/openai/v1/files?limit=2`, { headers });
		expect(await answer.json()).toEqual({ object: "list", data: [] });
		expect(answer.headers.get("cf-aig-event-id")).toBe("event-1");
		const [request] = vendor.requests;
		expect(request?.url).toBe("https://api.openai.com/v1/files?limit=2");
		expect(request?.headers.get("authorization")).toBe(headers.authorization);
		expect(request?.headers.has("cf-aig-event-id")).toBe(false);
	});

	it("refuses an unknown vendor, and a vendor without a key, in AI Gateway's format", async () => {
		const { send } = gateway({ vars: {} });
		for (const [provider, code] of [
			["nobody", 2008],
			["elevenlabs", 2021],
		]) {
			const response = await send(`${GATEWAYS}/${provider}/v1/voices`);
			expect(await response.json()).toMatchObject({ name: "AiGatewayError", internalCode: code });
		}
	});

	it("never sends the token of a session that is connected by url to a vendor", async () => {
		const vendor = upstream(() => Response.json({}));
		const { send, createToken } = closedGateway({
			vars: {
				PROVIDER_KEYS: { openai: "KEY" },
				KEY: "sk-operator",
				AI_GATEWAY: { share_provider_keys: true },
			},
			fetch: vendor.fetch,
		});
		const headers = { "x-forwarded": `https://workers-binding.ai${GATEWAYS}/openai/v1/files` };
		for (const token of [await createToken(["Workers AI Run"]), ADMIN])
			expect((await send("/ai/run/proxy", token, { headers })).status).toBe(200);
		expect(vendor.requests.map((request) => request.headers.get("authorization"))).toEqual([
			"Bearer sk-operator",
			"Bearer sk-operator",
		]);
	});
});

describe("a gateway's address over HTTP", () => {
	const HTTP = "http://gateway/v1";
	const engines = { vars: ENGINE_VARS, fetch: upstream(() => Response.json(completion("Hello"))).fetch };
	const post = (body: unknown): RequestInit => json("POST", body);

	it("has the origin of the HTTP request, or PUBLIC_URL", async () => {
		const urlOf = async (vars: Record<string, unknown>) => {
			const { app } = testGateway({ vars });
			const wire = "https://workers-binding.ai/ai-gateway/gateways/mine/url/openai";
			const response = await app.request("http://127.0.0.1:8787/client/v4/accounts/local/ai/run/proxy", {
				headers: { "x-forwarded": wire },
			});
			return (await response.json<{ result: { url: string } }>()).result.url;
		};
		expect(await urlOf({ DEFAULT_BACKEND: "simulator" })).toBe("http://127.0.0.1:8787/v1/local/mine/openai");
		expect(await urlOf({ DEFAULT_BACKEND: "simulator", PUBLIC_URL: "https://ai.example.com" })).toBe(
			"https://ai.example.com/v1/local/mine/openai",
		);
	});

	it("answers through env.AI.fetch of a session that is connected by url, only for its account", async () => {
		const { app } = testGateway(engines);
		const origin = "http://127.0.0.1:8787";
		const forward = (url: string) =>
			app.request(`${origin}/client/v4/accounts/local/ai/run/proxy`, {
				...post({ prompt: "Hi" }),
				headers: { "content-type": "application/json", "x-forwarded": url },
			});
		const answered = await forward(`${origin}/v1/local/mine/workers-ai/${LLAMA}`);
		expect(await answered.json()).toMatchObject({ result: { response: "Hello" } });
		expect((await forward(`${origin}/v1/other/mine/workers-ai/${LLAMA}`)).status).toBe(404);
		for (const url of [`http://another/v1/local/mine/workers-ai/${LLAMA}`, `${origin}/client/v4/accounts`])
			expect(await (await forward(url)).json(), url).toMatchObject({ errors: [{ code: 7000 }] });
	});

	it("answers with a token of its account, also beside a provider's key", async () => {
		const { account, send, createToken } = closedGateway(engines);
		const token = await createToken(["Workers AI Write"]);
		const url = `${HTTP}/${account}/mine/workers-ai/${LLAMA}`;
		const answered = await send(url, token, post({ prompt: "Hi" }));
		expect(await answered.json()).toMatchObject({ result: { response: "Hello" } });
		const headers = { "cf-aig-authorization": `Bearer ${token}`, "content-type": "application/json" };
		const beside = await send(url, "sk-provider", { ...post({ prompt: "Hi" }), headers });
		expect(beside.status).toBe(200);
		const universal = await send(`${HTTP}/${account}/mine`, token, post([step(LLAMA, { prompt: "Hi" })]));
		expect(universal.headers.get("cf-aig-step")).toBe("0");
	});

	it("takes the token from the header of Anthropic's and Google's SDKs, and refuses others in its own format", async () => {
		const { account, send, createToken } = closedGateway(engines);
		const token = await createToken(["Workers AI Run"]);
		const messages = { model: "claude-haiku-4.5", max_tokens: 9, messages: chat("").messages };
		for (const [path, header, body, reply] of [
			["anthropic/v1/messages", "x-api-key", messages, { type: "message" }],
			[
				"google-ai-studio/v1beta/models/gemini-3-flash:generateContent",
				"x-goog-api-key",
				{ contents: [{ parts: [{ text: "Hi" }] }] },
				{ modelVersion: "google/gemini-3-flash" },
			],
		] as const) {
			const url = `${HTTP}/${account}/mine/${path}`;
			const headers = { "content-type": "application/json", [header]: token };
			expect(await (await send(url, undefined, { ...post(body), headers })).json()).toMatchObject(reply);
			const refused = await send(url, undefined, post(body));
			expect(refused.status).toBe(401);
			expect(await refused.json()).toMatchObject({ name: "AiGatewayError", internalCode: 2009 });
		}
	});

	it("refuses a request without a token, and one of another account", async () => {
		const { account, send, createToken } = closedGateway(engines);
		const token = await createToken(["Workers AI Write"]);
		const path = `mine/workers-ai/${LLAMA}`;
		const refused = await send(`${HTTP}/${account}/${path}`, undefined, post({ prompt: "Hi" }));
		expect(refused.status).toBe(401);
		expect(await refused.json()).toMatchObject({ internalCode: 2009, description: "Unauthorized" });
		expect(await failureOf(await send(`${HTTP}/other/${path}`, token, post({ prompt: "Hi" })))).toBe(
			'403 10000: Authentication error: the token is for another account than "other", which the address names',
		);
	});
});

describe("features that are not available", () => {
	const { send } = hello();

	it.each(["GET", "PATCH"])("logs: %s", async (method) => {
		const body = method === "PATCH" ? '{"feedback":1}' : null;
		const response = await send("/ai-gateway/gateways/g/logs/log-1", { method, body });
		expect(response.status).toBe(404);
		expect(await response.json()).toEqual({
			result: null,
			success: false,
			errors: [{ code: 7002, message: 'Log Not Found: "log-1" in the gateway "g"' }],
			messages: [],
		});
	});

	it.each(["/autorag/other", "/ai-gateway/other", "/ai-gateway/gateways/g", "/to-everything/other"])(
		"%s has no route",
		async (path) => {
			const response = await send(path);
			expect(response.status).toBe(400);
			expect(await response.json()).toMatchObject({ errors: [{ code: 7000 }] });
		},
	);

	it("other methods", async () => {
		const response = await send("/ai-gateway/universal/run/g");
		expect(response.status).toBe(405);
		expect(await response.json()).toMatchObject({ errors: [{ code: 7001 }] });
	});
});
