/** `author/model` at every entry point: a provider needs only a key, and failures are the product's. */
import { describe, expect, it } from "vitest";
import { AiError } from "../../src/core/errors.ts";
import { toRpcError } from "../../src/http/failure-formats.ts";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import chatJson from "../fixtures/gemini/chat.json?raw";
import chatSse from "../fixtures/gemini/chat.sse?raw";
import { CALLER, completion, testGateway, testServices, upstream } from "../gateway.ts";

const VARS = {
	OPENAI_API_KEY: "sk-openai",
	GEMINI_API_KEY: "AIza-google",
	PROVIDER_KEYS: { openai: "OPENAI_API_KEY", google: "GEMINI_API_KEY" },
};
const ANTHROPIC_VARS = { ANTHROPIC_API_KEY: "sk-ant-key", PROVIDER_KEYS: { anthropic: "ANTHROPIC_API_KEY" } };
const MESSAGES = [{ role: "user", content: "What is my name?" }];

const sent = (body: string, type = "application/json"): Response =>
	new Response(body, { headers: { "content-type": type } });

describe("a model of OpenAI's", () => {
	it("is requested from OpenAI by its own name, and billed by its price", async () => {
		const { fetch, requests } = upstream(() => Response.json(completion("Alice.")));
		const response = await testGateway({ vars: VARS, fetch }).post("/run/openai/gpt-5", {
			messages: MESSAGES,
		});
		expect(response.status).toBe(200);
		expect(response.headers.get("x-ganglion-backend")).toBe("openai");
		expect(await response.json()).toMatchObject({
			success: true,
			result: {
				object: "chat.completion",
				model: "openai/gpt-5",
				choices: [{ message: { content: "Alice." } }],
			},
		});
		const [request] = requests;
		expect(request?.url).toBe("https://api.openai.com/v1/chat/completions");
		expect(request?.headers.get("authorization")).toBe("Bearer sk-openai");
		expect(await request?.json()).toMatchObject({ model: "gpt-5" });
		// 3 tokens in at $1.25 a million, 2 out at $10, at $0.011 a thousand neurons: 2.159, truncated.
		expect(response.headers.get("cf-ai-neurons")).toBe("2.15");
	});
});

describe("a reasoning_effort of a provider's model on the simulator", () => {
	it.each(
		["none", "minimal", "xhigh"].flatMap((effort) =>
			["/run/openai/gpt-5.4", "/v1/chat/completions"].map((path) => [effort, path] as const),
		),
	)("accepts %s at %s, as the provider does", async (reasoning_effort, path) => {
		const { post } = testGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		const response = await post(path, { model: "openai/gpt-5.4", messages: MESSAGES, reasoning_effort });
		expect(response.status).toBe(200);
	});
});

describe("a model without a price", () => {
	const send = (vars: object) => {
		const { fetch, requests } = upstream(() => Response.json(completion("Alice.")));
		const gateway = testGateway({ vars: { ...VARS, ...vars }, fetch });
		return { requests, answer: gateway.post("/run/openai/gpt-next", { messages: MESSAGES }) };
	};
	const LIMITS = { daily_neurons: 100 };

	it("is refused for an account with a budget", async () => {
		const { requests, answer } = send({ LIMITS });
		const response = await answer;
		expect(response.status).toBe(402);
		expect(await response.json()).toMatchObject({
			errors: [
				{
					code: 2021,
					message: expect.stringContaining('set BACKENDS.{name}.price or MODELS["openai/gpt-next"].prices'),
				},
			],
		});
		expect(requests).toEqual([]);
	});

	it("is refused for it, too, if only the author is known", async () => {
		const { fetch, requests } = upstream(() => Response.json(completion("Alice.")));
		const keys = { GROQ_API_KEY: "gsk-groq", PROVIDER_KEYS: { groq: "GROQ_API_KEY" } };
		const send = (vars: object) =>
			testGateway({ vars: { ...keys, ...vars }, fetch }).post("/run/groq/llama-next", { messages: MESSAGES });
		expect((await send({ LIMITS })).status).toBe(402);
		expect(requests).toEqual([]);
		expect((await send({})).status).toBe(200);
	});

	it("is called without a budget, or with the operator's price, which is then charged", async () => {
		expect((await send({}).answer).status).toBe(200);
		const priced = (neurons: number) => ({
			"openai/gpt-next": { task: "Text Generation", prices: [{ unit: "per M output tokens", neurons }] },
		});
		const free = await send({ LIMITS, MODELS: priced(0) }).answer;
		expect(free.headers.get("cf-ai-neurons")).toBe("0.00");
		const paid = await send({ LIMITS, MODELS: priced(1_000_000) }).answer;
		expect(paid.headers.get("cf-ai-neurons")).toBe("2.00");
	});
});

describe("a model of Google's", () => {
	const google = () =>
		upstream(({ url }) => (url.includes("stream") ? sent(chatSse, "text/event-stream") : sent(chatJson)));

	it("answers as OpenAI's chat does, on its own route and on OpenAI's", async () => {
		const { fetch, requests } = google();
		const gateway = testGateway({ vars: VARS, fetch });
		for (const [path, body] of [
			["/run/google/gemini-3-flash", { messages: MESSAGES }],
			["/run", { model: "google/gemini-3-flash", input: { messages: MESSAGES } }],
		] as const)
			expect(await (await gateway.post(path, body)).json()).toMatchObject({
				result: {
					model: "google/gemini-3-flash",
					choices: [{ message: { content: "Your name is Alice." } }],
				},
			});
		const chat = await gateway.post("/v1/chat/completions", {
			model: "google/gemini-3-flash",
			messages: MESSAGES,
		});
		expect(await chat.json()).toMatchObject({ choices: [{ message: { content: "Your name is Alice." } }] });
		for (const { url, headers } of requests) {
			expect(url).toBe(
				"https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash-preview:generateContent",
			);
			expect(headers.get("x-goog-api-key")).toBe("AIza-google");
		}
	});

	it("streams to the binding", async () => {
		const app = wireOf(testServices({ vars: VARS, fetch: google().fetch }));
		const request = new Request("https://workers-binding.ai/run?version=3", {
			method: "POST",
			headers: { "content-type": "application/json", "cf-consn-model-id": "google/gemini-3-flash" },
			body: JSON.stringify({ inputs: { messages: MESSAGES, stream: true }, options: {} }),
		});
		const text = await (await app.fetch(request, { caller: CALLER })).text();
		const words = [...text.matchAll(/"content":"([^"]*)"/g)].map(([, word]) => word);
		expect(words.join("")).toBe("Your name is Alice.");
		expect(text).toMatch(/data: \[DONE\]\n\n$/);
		// No native frame with the usage, which OpenAI's clients cannot read.
		const chunks = text.split("\n\n").slice(0, -2);
		expect(chunks.filter((chunk) => !chunk.includes('"choices"'))).toEqual([]);
		expect(chunks.at(-1)).toMatch(/"choices":\[\],"usage":\{"prompt_tokens":/);
	});

	it("is listed if its author has a key; models of other authors are not", async () => {
		const { get } = testGateway({ vars: VARS });
		const names = async (path: string) => {
			const { result } = await (await get(path)).json<{ result: { name: string }[] }>();
			return result.map(({ name }) => name);
		};
		expect(await names("/models/search?author=google&search=gemini")).toContain("google/gemini-2.5-pro");
		expect(await names("/models/search?author=anthropic")).toEqual([]);
		const { data } = await (await get("/v1/models")).json<{ data: { id: string }[] }>();
		expect(data.map(({ id }) => id)).toContain("google/gemini-2.5-pro");
	});
});

describe("a model of Anthropic's", () => {
	const anthropic = () =>
		upstream(() =>
			Response.json({
				id: "msg_1",
				type: "message",
				role: "assistant",
				model: "claude-haiku-4-5-20251001",
				content: [{ type: "text", text: "Alice." }],
				stop_reason: "end_turn",
				stop_sequence: null,
				usage: { input_tokens: 11, output_tokens: 3 },
			}),
		);

	it("is called and answers in Anthropic's own format on its own route", async () => {
		const { fetch, requests } = anthropic();
		const { post } = testGateway({ vars: ANTHROPIC_VARS, fetch });
		const response = await post("/run/anthropic/claude-haiku-4.5", { messages: MESSAGES, max_tokens: 64 });
		expect(await response.json()).toMatchObject({
			success: true,
			result: {
				type: "message",
				role: "assistant",
				model: "anthropic/claude-haiku-4.5",
				content: [{ type: "text", text: "Alice." }],
				stop_reason: "end_turn",
			},
		});
		const [request] = requests;
		expect(request?.url).toBe("https://api.anthropic.com/v1/messages");
		expect(request?.headers.get("x-api-key")).toBe("sk-ant-key");
		expect(await request?.json()).toMatchObject({ model: "claude-haiku-4-5", max_tokens: 64 });
		// 11 tokens in at $1 a million, 3 out at $5.
		expect(response.headers.get("cf-ai-neurons")).toBe("2.36");
	});

	it("requires max_tokens, as Anthropic does", async () => {
		const { post } = testGateway({ vars: ANTHROPIC_VARS, fetch: anthropic().fetch });
		expect((await post("/run/anthropic/claude-haiku-4.5", { messages: MESSAGES })).status).toBe(400);
	});

	it("gets fields that only Anthropic has, which other engines do not receive", async () => {
		const body = {
			messages: [
				{ role: "user", content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }] },
			],
			system: [{ type: "text", text: "Be short.", cache_control: { type: "ephemeral" } }],
			tools: [{ type: "web_search_20250305", name: "web_search" }],
			metadata: { user_id: "u" },
			service_tier: "auto",
			max_tokens: 64,
		};
		const { fetch, requests } = anthropic();
		const { post } = testGateway({ vars: ANTHROPIC_VARS, fetch });
		const model = "anthropic/claude-haiku-4.5";
		for (const [path, sent] of [
			[`/run/${model}`, body],
			["/v1/messages", { ...body, model }],
		] as const)
			expect((await post(path, sent)).headers.get("x-ganglion-dropped")).toBeNull();
		for (const request of requests)
			expect(await request.json()).toEqual({ ...body, model: "claude-haiku-4-5", stream: false });
		const elsewhere = testGateway({ vars: { ROUTES: { "anthropic/*": [{ backend: "simulator" }] } } });
		const answered = await elsewhere.post("/v1/messages", { ...body, model });
		expect(answered.status).toBe(200);
		expect(answered.headers.get("x-ganglion-dropped")).toBe("tools.web_search");
	});

	it("answers as OpenAI's chat does on OpenAI's route", async () => {
		const { post } = testGateway({ vars: ANTHROPIC_VARS, fetch: anthropic().fetch });
		const model = "anthropic/claude-haiku-4.5";
		const response = await post("/v1/chat/completions", { model, messages: MESSAGES });
		expect(await response.json()).toMatchObject({
			object: "chat.completion",
			model,
			choices: [{ message: { content: "Alice." }, finish_reason: "stop" }],
		});
	});
});

describe("a failure about a third party's model", () => {
	const MISSING =
		"Insufficient AI Gateway credits: nothing is set up here for anthropic (see PROVIDER_KEYS, or store a key in provider_configs of the gateway)";
	const OPENAI_ERRORS: Record<number, object> = {
		2021: { type: "insufficient_quota", code: "insufficient_quota" },
		7003: { type: "invalid_request_error", code: "model_not_found" },
	};
	const cases: [string, number, number, string][] = [
		["anthropic/claude-haiku-4.5", 402, 2021, MISSING],
		["nobody/nothing", 404, 7003, "Model not found: nobody/nothing"],
	];

	it.each(cases)("of %s is v4's on the REST API", async (model, status, code, message) => {
		const { post } = testGateway({ vars: VARS });
		const envelope = { result: null, success: false, errors: [{ code, message }], messages: [] };
		const native = await post("/run", { model, input: { messages: MESSAGES, max_tokens: 9 } });
		expect([native.status, await native.text()]).toEqual([status, JSON.stringify(envelope)]);
		// OpenAI's SDKs read `error`.
		const chat = await post("/v1/chat/completions", { model, messages: MESSAGES });
		const error = { message, param: null, ...OPENAI_ERRORS[code] };
		expect(chat.status).toBe(status);
		expect(await chat.json()).toEqual({ ...envelope, error });
	});

	it("of an address without a known model is the API's own", async () => {
		const { post } = testGateway({ vars: VARS });
		expect(
			(await post("/run/anthropic/claude-haiku-4.5", { messages: MESSAGES, max_tokens: 9 })).status,
		).toBe(402);
		const response = await post("/run/nobody/nothing", { messages: MESSAGES });
		expect(response.status).toBe(400);
		expect(await response.json()).toMatchObject({ errors: [{ code: 7000 }] });
	});

	it.each([
		[
			5006,
			{ foo: 1 },
			"oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', required properties at '/' are 'messages'",
		],
		[
			8001,
			{ messages: MESSAGES, tools: [{ type: "function", function: { name: "a" } }], tool_choice: 5 },
			"tool_choice must be none, auto, required, or name a function or the allowed functions",
		],
	])(
		"about inputs that are %i elsewhere is AI Gateway's 7003 on the model's own route: %j",
		async (code, inputs, finding) => {
			const model = "deepseek/deepseek-v4-pro";
			const vars = { ROUTES: { [model]: [{ backend: "simulator" }] } };
			const message = `Model execution failed (User Input Error): ${finding}`;
			const { post } = testGateway({ vars });
			const envelope = { result: null, success: false, errors: [{ code: 7003, message }], messages: [] };
			for (const response of [
				await post(`/run/${model}`, inputs),
				await post("/run", { model, input: inputs }),
			])
				expect([response.status, await response.json()]).toEqual([400, envelope]);
			const bound = await wireOf(testServices({ vars })).fetch(
				new Request("https://workers-binding.ai/run?version=3", {
					method: "POST",
					headers: { "content-type": "application/json", "cf-consn-model-id": model },
					body: JSON.stringify({ inputs, options: {} }),
				}),
				{ caller: CALLER },
			);
			expect(bound.status).toBe(400);
			expect(await bound.json()).toMatchObject({
				name: "AiGatewayError",
				internalCode: 7003,
				description: message,
			});
			// OpenAI's route has the codes of Workers AI for every model.
			const chat = await post("/v1/chat/completions", { ...inputs, model });
			expect(await chat.json()).toMatchObject({ errors: [{ code }] });
		},
	);

	describe("that a backend of Workers AI answers about the inputs", () => {
		const model = "deepseek/deepseek-v4-pro";
		const message = "Model execution failed (User Input Error): top_p: must be less";
		const refusing = () =>
			upstream(() =>
				Response.json(
					{ success: false, result: null, errors: [{ code: 7003, message }], messages: [] },
					{ status: 400 },
				),
			);
		const vars = {
			BACKENDS: { edge: { kind: "workers-ai", url: "https://host.example/ai" } },
			ROUTES: { [model]: [{ backend: "edge" }] },
		};
		const logged: AiError[] = [];
		const observed: string[] = [];
		const { post, services } = testGateway({ vars, fetch: refusing().fetch });
		services.log = (error) => void logged.push(error);
		const observe = (_: unknown, { key }: AiError) => void observed.push(key);
		services.observers = [...services.observers, { attemptFailed: observe, failed: observe }];

		it("is AI Gateway's 7003 on the model's own route, and logged once", async () => {
			const envelope = { result: null, success: false, errors: [{ code: 7003, message }], messages: [] };
			const native = await post(`/run/${model}`, { messages: MESSAGES });
			expect([native.status, await native.json()]).toEqual([400, envelope]);
			// The surface's log leaves out a failure with its exchange, whose observers log it.
			expect(logged.map(({ key, exchange }) => [key, exchange?.attempts])).toEqual([["userInputError", 1]]);
			expect(observed).toEqual(["invalidInput"]);
		});

		it.each([
			["/v1/chat/completions", { model, messages: MESSAGES }],
			["/v1/responses", { model, input: "Hi" }],
			["/v1/messages", { model, max_tokens: 9, messages: MESSAGES }],
			[`/v1beta/models/${model}:generateContent`, { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }],
		])("is 8001 at %s", async (path, body) => {
			const answered = await post(path, body);
			expect(answered.status).toBe(400);
			const text = await answered.text();
			expect(text).toContain("Invalid input: top_p: must be less");
			expect(text).not.toContain("7003");
			expect(text).not.toContain("User Input Error");
		});
	});

	it.each(cases)("of %s is AI Gateway's on the binding", async (model, status, code, message) => {
		const app = wireOf(testServices({ vars: VARS }));
		const response = await app.fetch(
			new Request("https://workers-binding.ai/run?version=3", {
				method: "POST",
				headers: { "content-type": "application/json", "cf-consn-model-id": model },
				body: JSON.stringify({ inputs: { messages: MESSAGES, max_tokens: 9 }, options: {} }),
			}),
			{ caller: CALLER },
		);
		expect(response.status).toBe(status);
		expect(await response.text()).toBe(
			JSON.stringify({
				success: false,
				result: [],
				messages: [],
				error: [{ code, message }],
				name: "AiGatewayError",
				httpCode: status,
				internalCode: code,
				message,
				description: message,
			}),
		);
	});

	it("has AI Gateway's name over RPC", () => {
		expect(toRpcError(new AiError("missingProviderKey"))).toMatchObject({
			name: "AiGatewayError",
			message: "2021: Insufficient AI Gateway credits",
			internalCode: 2021,
			httpCode: 402,
		});
		expect(toRpcError(new AiError("badInput"))).toMatchObject({ name: "AiError" });
	});
});

it("is 2009 on /ai/run if the provider refuses the operator's key", async () => {
	const refusing = upstream(() => Response.json({ error: { message: "bad key" } }, { status: 401 }));
	const { post, services } = testGateway({ vars: VARS, fetch: refusing.fetch });
	const logged: AiError[] = [];
	services.log = (error) => void logged.push(error);
	const inputs = { messages: MESSAGES };
	for (const [path, body] of [
		["/run/openai/gpt-5-mini", inputs],
		["/run", { model: "openai/gpt-5-mini", input: inputs }],
	] as const) {
		const refused = await post(path, body);
		expect(refused.status).toBe(401);
		expect(await refused.json()).toMatchObject({ errors: [{ code: 2009, message: "Unauthorized" }] });
	}
	// Each error has its exchange, whose observers log it, so that it is logged once.
	expect(logged.map(({ key, exchange }) => [key, exchange?.attempts])).toEqual([
		["providerKeyRefused", 1],
		["providerKeyRefused", 1],
	]);
	const elsewhere = await post("/v1/chat/completions", { ...inputs, model: "openai/gpt-5-mini" });
	expect(elsewhere.status).toBe(502);
});

describe("a model with the request format of Responses, on the run path", () => {
	const { post } = testGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
	const question = "Reply with exactly: Alice.";

	it.each(["openai/gpt-6-luna", "openai/gpt-5.6-sol"])("%s takes both bodies", async (model) => {
		const response = await post("/run", { model, input: { input: question, max_output_tokens: 32 } });
		expect(await response.json()).toMatchObject({
			success: true,
			result: { object: "response", status: "completed", model },
		});
		const chat = await post(`/run/${model}`, { messages: [{ role: "user", content: question }] });
		expect(await chat.json()).toMatchObject({
			result: { object: "chat.completion", choices: [{ message: { content: "Alice." } }] },
		});
	});

	it("streams the events of the body's format", async () => {
		const response = await post("/run/openai/gpt-6-luna", { input: question, stream: true });
		const text = await response.text();
		expect(text).toContain("event: response.created");
		expect(text).toContain("event: response.completed");
	});

	it("refuses a body with neither", async () => {
		const response = await post("/run/openai/gpt-6-luna", { max_output_tokens: 5 });
		expect(response.status).toBe(400);
		// An unknown model has the same code.
		const message = expect.stringMatching(/^Model execution failed \(User Input Error\): /);
		expect(await response.json()).toMatchObject({ errors: [{ code: 7003, message }] });
	});
});

describe("jev", () => {
	const { post } = testGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
	const questions = { is_urgent: { type: "noul", instructions: "Does this convey urgency?" } };

	it("answers typed questions, without a model in the body", async () => {
		const response = await post("/run/typesafe/jev", {
			state: "My payouts have been failing for 3 days.",
			questions,
		});
		expect(await response.json()).toMatchObject({
			success: true,
			result: { answers: { is_urgent: { type: "noul", noul: expect.any(Number) } } },
		});
	});

	it("takes no images", async () => {
		const response = await post("/run/typesafe/jev", { state: "Hi", questions, images: [] });
		expect(response.status).toBe(400);
	});
});
