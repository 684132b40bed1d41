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

const RESPONSES = { kind: "openai", api: "responses", url: "https://api.openai.com/v1" };
const RESPONSE = {
	status: "completed",
	output: [{ type: "message", content: [{ type: "output_text", text: "4" }] }],
};
const ANTHROPIC = { kind: "anthropic", url: "https://api.anthropic.com" };
const MESSAGE = { type: "message", content: [{ type: "text", text: "4" }], stop_reason: "end_turn" };

interface SentMessage {
	role?: string;
	tool_calls?: { id: string }[];
	tool_call_id?: string;
	reasoning_content?: string;
}

/** The body that a host receives. */
async function sent<Body>(
	backend: object,
	model: string,
	body: object,
	reply: object,
	path = "/v1/chat/completions",
): Promise<Body> {
	const { fetch, requests } = upstream(() => Response.json(reply));
	const vars = {
		BACKENDS: { host: backend },
		ROUTES: { [MODEL]: [{ backend: "host", model }] },
		MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["function_calling", "reasoning"] } },
	};
	const response = await testGateway({ vars, fetch }).post(path, { model: MODEL, ...body });
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
		const { input } = await sent<{ input: { call_id?: string }[] }>(
			RESPONSES,
			"gpt-6.1-sol",
			{ messages: HISTORY },
			RESPONSE,
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

describe("results of tools in another order than the calls", () => {
	const callOf = (id: string) => ({
		id,
		type: "function",
		function: { name: "get_weather", arguments: "{}" },
	});
	const calls = (...ids: string[]) => ({ role: "assistant", content: null, tool_calls: ids.map(callOf) });
	const result = (id: string) => ({ role: "tool", tool_call_id: id, content: `of ${id}` });
	const THANKS = { role: "user", content: "Thanks" };
	const ANSWER = { role: "assistant", content: "4 degrees" };
	const NONE = "There is no result of this call.";

	/** The roles, with the ids of calls and results: what a strict host checks. */
	interface Conversation {
		name: string;
		messages: object[];
		/** The calls, each with its result, in the order of the conversation. */
		results: Record<string, string>;
		/** Results without calls. */
		orphans?: string[];
	}
	const CASES: Conversation[] = [
		{
			name: "the right order",
			messages: [USER, calls("a", "b"), result("a"), result("b")],
			results: { a: "of a", b: "of b" },
		},
		{
			name: "another order",
			messages: [USER, calls("a", "b"), result("b"), result("a"), ANSWER, THANKS],
			results: { a: "of a", b: "of b" },
		},
		{
			name: "a message before the results",
			messages: [USER, calls("a", "b"), THANKS, result("a"), result("b")],
			results: { a: "of a", b: "of b" },
		},
		{
			name: "a result after the next call",
			messages: [USER, calls("a"), calls("b"), result("b"), result("a"), THANKS],
			results: { a: "of a", b: "of b" },
		},
		{
			name: "a call that was interrupted",
			messages: [USER, calls("a", "b"), result("b"), THANKS],
			results: { a: NONE, b: "of b" },
		},
		{
			name: "calls without results",
			messages: [USER, calls("a"), THANKS],
			results: { a: NONE },
		},
		{
			name: "a result of a call that was left out",
			messages: [USER, result("gone"), ANSWER, THANKS, calls("a"), result("a")],
			results: { a: "of a" },
			orphans: ["of gone"],
		},
		{
			name: "a second result of one call",
			messages: [USER, calls("a"), result("a"), ANSWER, result("a"), THANKS],
			results: { a: "of a" },
			orphans: ["of a"],
		},
	];
	const named = CASES.map((one) => [one.name, one] as const);

	interface ChatTurn {
		role: string;
		content: unknown;
		tool_calls?: { id: string }[];
		tool_call_id?: string;
	}
	/** As OpenAI checks it: the results directly follow the message with the calls. */
	function chatResults(messages: ChatTurn[]): Record<string, unknown> {
		const results: Record<string, unknown> = {};
		for (let at = 0; at < messages.length; at++) {
			const { role, tool_calls = [] } = messages[at] as ChatTurn;
			if (role === "tool")
				throw new Error("messages with role 'tool' must be a response to a preceding message");
			const pending = new Set(tool_calls.map(({ id }) => id));
			while (pending.size > 0) {
				const { tool_call_id = "", content } = messages[++at] ?? { role: "", content: "" };
				if (!pending.delete(tool_call_id)) throw new Error(`no response to ${[...pending]}`);
				results[tool_call_id] = content;
			}
		}
		return results;
	}

	it.each(named)("have the form of OpenAI's chats: %s", async (_, { messages, results, orphans = [] }) => {
		const body = await onChat("https://api.openai.com/v1", "gpt-4.1", { messages });
		expect(chatResults(body.messages as ChatTurn[])).toEqual(results);
		for (const orphan of orphans) expect(JSON.stringify(body.messages)).toContain(orphan);
	});

	it.each(named)("have the form of Responses: %s", async (_, { messages, results, orphans = [] }) => {
		const { input } = await sent<{ input: { type: string; call_id: string; output?: string }[] }>(
			RESPONSES,
			"gpt-6.1-sol",
			{ messages },
			RESPONSE,
		);
		const outputs = input.filter(({ type }) => type === "function_call_output");
		expect(Object.fromEntries(outputs.map(({ call_id, output }) => [call_id, output]))).toEqual(results);
		const called = input.filter(({ type }) => type === "function_call").map(({ call_id }) => call_id);
		expect(called).toEqual(Object.keys(results));
		for (const orphan of orphans) expect(JSON.stringify(input)).toContain(orphan);
	});

	interface Block {
		type: string;
		id?: string;
		tool_use_id?: string;
		content?: unknown;
	}
	interface MessagesBody {
		messages: { role: string; content: Block[] }[];
		tools?: { name: string }[];
		tool_choice?: object;
	}
	/** As Anthropic checks it: the results begin the turn after the calls, and there are tools. */
	function blockResults({ messages, tools }: MessagesBody): Record<string, unknown> {
		const results: Record<string, unknown> = {};
		let pending: string[] = [];
		const turns: MessagesBody["messages"] = [];
		for (const { role, content } of messages) {
			// Consecutive turns of one role are one.
			if (turns.at(-1)?.role === role) turns.at(-1)?.content.push(...content);
			else turns.push({ role, content: [...content] });
		}
		for (const { role, content } of turns) {
			const given = content.filter(({ type }) => type === "tool_result");
			if (given.some((block) => !pending.includes(block.tool_use_id ?? "")))
				throw new Error("unexpected `tool_use_id` found in `tool_result` blocks");
			if (pending.length !== given.length) throw new Error("`tool_use` ids without `tool_result` blocks");
			if (content.slice(0, given.length).some((block) => !given.includes(block)))
				throw new Error("`tool_result` blocks must be first");
			for (const block of given) results[block.tool_use_id ?? ""] = block.content;
			pending = content.flatMap(({ type, id }) =>
				type === "tool_use" && role === "assistant" ? [id ?? ""] : [],
			);
		}
		if (Object.keys(results).length > 0 && !tools?.length)
			throw new Error("Requests which have `tool_use` or `tool_result` blocks in messages must define tools");
		return results;
	}

	it.each(named)("have the form of Anthropic: %s", async (_, { messages, results, orphans = [] }) => {
		const body = await sent<MessagesBody>(ANTHROPIC, "claude-opus-5-5", { messages }, MESSAGE);
		expect(blockResults(body)).toEqual(results);
		expect(body.tools?.map(({ name }) => name)).toEqual(["get_weather"]);
		expect(body.tool_choice).toEqual({ type: "none" });
		for (const orphan of orphans) expect(JSON.stringify(body.messages)).toContain(orphan);
	});

	it.each(named)(
		"have the form of Anthropic, from Messages: %s",
		async (_, { messages: chat, results, orphans = [] }) => {
			const messages = (chat as ChatTurn[]).map(({ role, content, tool_calls, tool_call_id }) =>
				tool_calls
					? {
							role,
							content: tool_calls.map(({ id }) => ({ type: "tool_use", id, name: "get_weather", input: {} })),
						}
					: role === "tool"
						? { role: "user", content: [{ type: "tool_result", tool_use_id: tool_call_id, content }] }
						: { role, content },
			);
			const request = { max_tokens: 100, messages };
			const body = await sent<MessagesBody>(ANTHROPIC, "claude-opus-5-5", request, MESSAGE, "/v1/messages");
			expect(blockResults(body)).toEqual(results);
			for (const orphan of orphans) expect(JSON.stringify(body.messages)).toContain(orphan);
		},
	);

	it.each(named)("have the form of Gemini: %s", async (_, { messages, results, orphans = [] }) => {
		interface GeminiPart {
			functionCall?: { id: string };
			functionResponse?: { id: string; response: { output: string } };
		}
		const { contents } = await sent<{ contents: { role: string; parts: GeminiPart[] }[] }>(
			{ kind: "gemini", url: "https://generativelanguage.googleapis.com" },
			"gemini-3.8-flash",
			{ messages },
			{ candidates: [{ content: { parts: [{ text: "4" }] }, finishReason: "STOP" }] },
		);
		const found: Record<string, string> = {};
		for (const [at, { parts }] of contents.entries()) {
			const calledBefore = contents[at - 1]?.parts.filter(({ functionCall }) => functionCall) ?? [];
			const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? []);
			// "Please ensure that the number of function response parts is equal to the number of function call parts"
			expect(responses.length).toBe(calledBefore.length);
			for (const { id, response } of responses) found[id] = response.output;
		}
		expect(found).toEqual(results);
		for (const orphan of orphans) expect(JSON.stringify(contents)).toContain(orphan);
	});

	it("keep a result without a call for an engine", async () => {
		const messages = [USER, result("gone"), ANSWER, THANKS];
		const body = await onChat("http://vllm.internal/v1", "qwen3.8", { messages });
		expect(body.messages.map(({ role }) => role)).toEqual(["user", "tool", "assistant", "user"]);
	});
});

describe("reasoning details of OpenRouter", () => {
	const DETAILS = [
		{ type: "reasoning.text", text: "Hm.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
		{ type: "reasoning.encrypted", data: "QUJD", id: "rs_1", format: "openai-responses-v1", index: 1 },
	];
	const OPENROUTER = "https://openrouter.ai/api/v1";
	const history = (reasoning_details: object[]) => ({
		messages: [
			USER,
			{ role: "assistant", content: "4 degrees", reasoning: "Hm.", reasoning_details },
			{ role: "user", content: "And in Rome?" },
		],
	});
	type Detailed = SentMessage & { reasoning_details?: object[] };
	const sentDetails = async (url: string, model: string, details: object[]) =>
		((await onChat(url, model, history(details))).messages[1] as Detailed).reasoning_details;

	/** A gateway whose OpenRouter answers with `body`. */
	async function answerTo(stream: boolean, body: string, type: string): Promise<string> {
		const { fetch } = upstream(() => new Response(body, { headers: { "content-type": type } }));
		const vars = {
			BACKENDS: { host: { kind: "openai", url: OPENROUTER } },
			ROUTES: { [MODEL]: [{ backend: "host", model: "anthropic/claude-opus-5.5" }] },
			MODELS: { [MODEL]: { task: "Text Generation", capabilities: ["reasoning"] } },
		};
		return (
			await testGateway({ vars, fetch }).post("/v1/chat/completions", {
				model: MODEL,
				messages: [USER],
				stream,
			})
		).text();
	}
	const chunkOf = (delta: object, finish_reason: string | null = null) =>
		`data: ${JSON.stringify({ id: "gen-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
	const CHUNKS = [
		chunkOf({ role: "assistant", content: "", reasoning: "Hm.", reasoning_details: DETAILS.slice(0, 1) }),
		chunkOf({ content: "", reasoning: null, reasoning_details: DETAILS.slice(1) }),
		chunkOf({ content: "4 degrees" }),
		chunkOf({ content: "" }, "stop"),
		"data: [DONE]\n\n",
	].join("");
	const detailsIn = (text: string): unknown[] =>
		text
			.split("\n\n")
			.filter((event) => event.startsWith("data: {"))
			.map((event) => JSON.parse(event.slice("data: ".length)))
			.flatMap(({ choices: [choice] }) => choice?.delta.reasoning_details ?? []);

	/** Each secret as it is: absent, a seal, or open. */
	const withoutSecrets = (details: unknown[]) =>
		(details as Record<string, string>[]).map(({ signature, data, ...fields }) => ({
			...fields,
			...(signature && { signature: signature.replace(/^gngl.*/, "sealed") }),
			...(data && { data: data.replace(/^gngl.*/, "sealed") }),
		}));
	const SEALED = [
		{ ...DETAILS[0], signature: "sealed" },
		{ ...DETAILS[1], data: "sealed" },
	];

	it("pass with seals in place of their secrets, whole and streamed", async () => {
		const message = { role: "assistant", content: "4", reasoning: "Hm.", reasoning_details: DETAILS };
		const choices = [{ index: 0, message, finish_reason: "stop" }];
		const whole = JSON.parse(await answerTo(false, JSON.stringify({ choices }), "application/json"));
		expect(withoutSecrets(whole.choices[0].message.reasoning_details)).toEqual(SEALED);
		expect(withoutSecrets(detailsIn(await answerTo(true, CHUNKS, "text/event-stream")))).toEqual(SEALED);
		const collected = JSON.parse(await answerTo(false, CHUNKS, "text/event-stream"));
		expect(withoutSecrets(collected.choices[0].message.reasoning_details)).toEqual(SEALED);
		const streamed = await answerTo(true, JSON.stringify({ choices }), "application/json");
		expect(withoutSecrets(detailsIn(streamed))).toEqual(SEALED);
	});

	it("are sent back to OpenRouter if they have no secret, and without secrets that the gateway has not sealed", async () => {
		const open = { type: "reasoning.summary", summary: "Hm.", format: "openai-responses-v1", index: 0 };
		const seal = { type: "reasoning.encrypted", data: `gngl${"A".repeat(60)}` };
		expect(await sentDetails(OPENROUTER, "openai/gpt-6.1-sol", [open, ...DETAILS, seal])).toEqual([open]);
	});

	it.each([
		["https://api.openai.com/v1", "gpt-4.1"],
		["https://api.deepseek.com", "deepseek-v4-pro"],
		["http://vllm.internal/v1", "qwen3.8"],
	])("are not sent to %s", async (url, model) => {
		expect(await sentDetails(url, model, DETAILS)).toBeUndefined();
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
		const body = await sent<{ tools: { input_schema: object }[] }>(
			ANTHROPIC,
			"claude-opus-5-5",
			{ messages: [USER], tools },
			MESSAGE,
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
		const BACKENDS = { host: RESPONSES };
		const ROUTES = {
			[MODEL]: { targets: [{ backend: "host", model: "gpt-6.1-sol" }], retries: { attempts: 1 } },
		};
		const MODELS = { [MODEL]: { task: "Text Generation" } };
		const gateway = testGateway({ vars: { BACKENDS, ROUTES, MODELS }, fetch });
		const { status } = await gateway.post("/v1/chat/completions", { model: MODEL, messages: [USER] });
		expect(status).toBe(500);
	});
});
