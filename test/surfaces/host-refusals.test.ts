/** Requests that hosted services are known to refuse, as the gateway sends them. */
import { describe, expect, it } from "vitest";
import { testGateway, upstream } from "../gateway.ts";

const MODEL = "acme/assistant-1";
const CALL_ID = `toolu_${"0".repeat(60)}`;
const USER = { role: "user", content: "Weather in Oslo?" };
const CALL = { id: CALL_ID, type: "function", function: { name: "get_weather", arguments: "{}" } };
const HISTORY = [
	USER,
	{ role: "assistant", content: null, tool_calls: [CALL] },
	{ role: "tool", tool_call_id: CALL_ID, content: "4" },
];

interface SentMessage {
	tool_calls?: { id: string }[];
	tool_call_id?: string;
	reasoning_content?: string;
}

/** The body that a host receives. */
async function sent<Body>(backend: object, model: string, body: object, reply: object): Promise<Body> {
	const { fetch, requests } = upstream(() => Response.json(reply));
	const vars = {
		BACKENDS: { host: backend },
		ROUTES: { [MODEL]: [{ backend: "host", model }] },
		MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
	};
	const response = await testGateway({ vars, fetch }).post("/v1/chat/completions", { model: MODEL, ...body });
	expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
	return (requests.at(-1) as Request).json<Body>();
}

const chatReply = (usage: object = {}) => ({
	choices: [{ index: 0, message: { role: "assistant", content: "4 degrees" }, finish_reason: "stop" }],
	usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29, ...usage },
});
const onChat = (url: string, model: string, body: object = { messages: HISTORY }) =>
	sent<{ messages: SentMessage[]; tools?: { function: { parameters?: object } }[] }>(
		{ kind: "openai", url },
		model,
		body,
		chatReply(),
	);

describe("an id of a tool call of another model", () => {
	it.each([
		["https://api.mistral.ai/v1", "mistral-medium-3-5", /^[a-zA-Z0-9]{9}$/],
		["https://api.openai.com/v1", "gpt-4.1", /^.{1,40}$/],
	])("fits %s, the same in a call and its result", async (url, model, fits) => {
		const { messages } = await onChat(url, model);
		const [, answer, result] = messages;
		expect(result?.tool_call_id).toMatch(fits);
		expect(answer?.tool_calls?.[0]?.id).toBe(result?.tool_call_id);
	});

	it("fits OpenAI's Responses", async () => {
		const reply = {
			status: "completed",
			output: [{ type: "message", content: [{ type: "output_text", text: "4" }] }],
		};
		const backend = { kind: "openai", api: "responses", url: "https://api.openai.com/v1" };
		const { input } = await sent<{ input: { call_id?: string }[] }>(
			backend,
			"gpt-6.1-sol",
			{ messages: HISTORY },
			reply,
		);
		const ids = input.flatMap(({ call_id }) => call_id ?? []);
		expect(ids).toEqual([expect.stringMatching(/^.{1,64}$/), ids[0]]);
	});

	it("is unchanged where any id fits", async () => {
		const { messages } = await onChat("http://vllm.internal/v1", "qwen3.8");
		expect(messages[2]?.tool_call_id).toBe(CALL_ID);
	});
});

describe("an answer with calls of a model without reasoning", () => {
	it.each([
		["https://api.deepseek.com", "deepseek-v4-pro", ""],
		["https://api.moonshot.ai/v1", "kimi-k3", ""],
		["https://api.z.ai/api/paas/v4", "glm-5.3", undefined],
	])("has the reasoning that %s requires", async (url, model, reasoning) => {
		const { messages } = await onChat(url, model);
		expect(messages[1]?.reasoning_content).toBe(reasoning);
		expect(messages[0]?.reasoning_content).toBeUndefined();
	});
});

describe("a tool whose schema is no object with properties", () => {
	const tools = [
		{ type: "function", function: { name: "now" } },
		{ type: "function", function: { name: "today", parameters: {} } },
		{ type: "function", function: { name: "find", parameters: { anyOf: [{ properties: { city: {} } }] } } },
	];
	const EMPTY = { type: "object", properties: {} };
	const FIND = { type: "object", properties: { city: {} } };

	it("has one at OpenAI", async () => {
		const body = await onChat("https://api.openai.com/v1", "gpt-4.1", { messages: [USER], tools });
		expect(body.tools?.map(({ function: { parameters } }) => parameters)).toEqual([undefined, EMPTY, FIND]);
	});

	it("has one at Anthropic", async () => {
		const reply = { type: "message", content: [{ type: "text", text: "4" }], stop_reason: "end_turn" };
		const body = await sent<{ tools: { input_schema: object }[] }>(
			{ kind: "anthropic", url: "https://api.anthropic.com" },
			"claude-opus-5-5",
			{ messages: [USER], tools },
			reply,
		);
		expect(body.tools.map(({ input_schema }) => input_schema)).toEqual([EMPTY, EMPTY, FIND]);
	});

	it("is unchanged for an engine", async () => {
		const body = await onChat("http://vllm.internal/v1", "qwen3.8", { messages: [USER], tools });
		expect(body.tools?.[2]?.function.parameters).toEqual({ anyOf: [{ properties: { city: {} } }] });
	});
});

describe("an error in an answer of Responses with status 200", () => {
	it.each([true, "out of memory", { code: "server_error" }])("is no empty answer: %j", async (error) => {
		const { fetch } = upstream(() => Response.json({ error }));
		const BACKENDS = { host: { kind: "openai", api: "responses", url: "https://api.openai.com/v1" } };
		const ROUTES = {
			[MODEL]: { targets: [{ backend: "host", model: "gpt-6.1-sol" }], retries: { attempts: 1 } },
		};
		const MODELS = { [MODEL]: { task: "Text Generation" } };
		const gateway = testGateway({ vars: { BACKENDS, ROUTES, MODELS }, fetch });
		const { status } = await gateway.post("/v1/chat/completions", { model: MODEL, messages: [USER] });
		expect(status).toBe(500);
	});
});
