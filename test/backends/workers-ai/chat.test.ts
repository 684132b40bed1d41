import { describe, expect, it } from "vitest";
import { workersAi } from "../../../src/backends/workers-ai/index.ts";
import { upstreamModel } from "../../../src/backends/workers-ai/run.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import chatCompletion from "../../fixtures/workers-ai/chat-completion.json?raw";
import jsonMode from "../../fixtures/workers-ai/json-mode.json?raw";
import nativeSse from "../../fixtures/workers-ai/native.sse?raw";
import nativeToolsSse from "../../fixtures/workers-ai/native-tools.sse?raw";
import openaiSse from "../../fixtures/workers-ai/openai.sse?raw";
import textCompletion from "../../fixtures/workers-ai/text-completion.json?raw";
import toolCall from "../../fixtures/workers-ai/tool-call.json?raw";
import toolCallScout from "../../fixtures/workers-ai/tool-call-scout.json?raw";
import { chunksOf, outputOf } from "../ask.ts";
import { says } from "../openai/ask.ts";
import { callOf, eventStream, failureOf, json } from "../upstream.ts";
import { ask, URL } from "./ask.ts";
import { bindingOver } from "./binding.ts";
import { GUARD, KIMI, LEGACY, LLAMA, MISTRAL, MOONDREAM, modelOf, QWEN, SCOUT } from "./models.ts";

const HI: ChatInput = { messages: [{ role: "user", content: "hi" }], stream: false };
const RAW: ChatInput = { messages: [], prompt: "Once", stream: false };
const SCHEMA = { type: "object", properties: { name: { type: "string" } } };
const FORMAT = { type: "json_schema" as const, json_schema: { name: "a", schema: SCHEMA } };

async function asked(model: string, input: ChatInput, reply = jsonMode) {
	const { call, answer } = ask("text-generation", model, input, ({ url }) =>
		url.includes("/v1/") ? says("hello") : json(reply),
	);
	await answer;
	expect(call.requests).toHaveLength(1);
	const { url, json: body } = call.requests[0] ?? { url: "", json: {} };
	return { path: url.replace(URL, ""), body };
}

describe("a chat", () => {
	it.each([LLAMA, SCOUT, KIMI, QWEN, GUARD, LEGACY, "@cf/openai/gpt-oss-20b"])(
		"goes over the OpenAI route: %s",
		async (model) => {
			expect(await asked(model, HI)).toEqual({
				path: "/v1/chat/completions",
				body: { model, messages: [{ role: "user", content: "hi" }], stream: false },
			});
		},
	);

	it("omits fields for Anthropic", async () => {
		const signed = { type: "thinking" as const, thinking: "hm", signature: "c2ln" };
		const messages: ChatInput["messages"] = [
			{ role: "user", content: "hi" },
			{ role: "assistant", content: "ok", thinking_blocks: [signed] },
			{ role: "user", content: "go on" },
		];
		const verbatim = { dialect: "anthropic" as const, body: { messages: [], max_tokens: 9 }, messages: 3 };
		const { body } = await asked(KIMI, {
			messages,
			stream: false,
			max_tokens: 9,
			verbatim,
			dropped: ["tools.web_search"],
		});
		expect(body).toEqual({
			model: KIMI,
			messages: [
				{ role: "user", content: "hi" },
				{ role: "assistant", content: "ok" },
				{ role: "user", content: "go on" },
			],
			max_tokens: 9,
			stream: false,
		});
	});

	it("has the additional fields of the product's models", async () => {
		const input: ChatInput = {
			...HI,
			messages: [
				{ role: "developer", content: "Be short." },
				{ role: "assistant", content: "ok", reasoning_content: "hm" },
			],
			stream: false,
			top_k: 3,
			repetition_penalty: 1.1,
			lora: "mine",
			reasoning_effort: "minimal",
			passthrough: { metadata: { a: "b" }, model: "another" },
		};
		const body = {
			model: LLAMA,
			messages: [
				{ role: "system", content: "Be short." },
				{ role: "assistant", content: "ok", reasoning: "hm" },
			],
			stream: false,
			top_k: 3,
			repetition_penalty: 1.1,
			lora: "mine",
			reasoning_effort: "low",
			metadata: { a: "b" },
		};
		expect((await asked(LLAMA, input)).body).toEqual(body);
		expect((await asked(KIMI, { ...input, reasoning_effort: null })).body).toMatchObject({
			messages: [{ role: "developer" }, {}],
			reasoning_effort: null,
		});
	});

	it.each([LLAMA, KIMI])(
		"omits a top_k of 0 for %s, because the product's schemas begin at 1",
		async (model) => {
			expect((await asked(model, { ...HI, top_k: 0 })).body).not.toHaveProperty("top_k");
		},
	);

	it("omits the upstream's price", async () => {
		const counts = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
		const asking = ask("text-generation", KIMI, HI, () => says("hi", { usage: { ...counts, neurons: 1.5 } }));
		expect((await outputOf(asking)).usage).toEqual(counts);
	});

	it("accepts a complete reply, or events if they are requested", async () => {
		const acceptOf = async (stream: boolean) => {
			const asking = ask("text-generation", KIMI, { ...HI, stream }, () => says("hello"));
			await asking.answer;
			return asking.call.requests[0]?.headers.get("accept");
		};
		expect(await acceptOf(false)).toBe("application/json");
		expect(await acceptOf(true)).toBe("text/event-stream, application/json");
	});

	it("is interrupted if its one choice does not finish", async () => {
		const unfinished = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
		const asking = ask("text-generation", KIMI, { ...HI, stream: true }, () => eventStream(unfinished));
		expect((await chunksOf(asking)).error).toMatchObject({
			description: "The backend 'lab' was cut off mid-answer",
		});
	});

	it("forwards the stream's bytes and requests usage", async () => {
		const bytes = openaiSse.split("\n\n").toSpliced(4, 2).join("\n\n");
		const asking = ask("text-generation", KIMI, { ...HI, stream: true }, () => eventStream(bytes));
		expect((await chunksOf(asking)).text).toBe(bytes);
		expect(asking.call.requests[0]?.json.stream_options).toEqual({ include_usage: true });
	});
});

describe("a chat that the OpenAI route does not support", () => {
	it.each([LLAMA, LEGACY, MISTRAL])("runs natively: a raw prompt for %s", async (model) => {
		expect(await asked(model, { ...RAW, max_tokens: 5, lora: "mine" })).toEqual({
			path: `/run/${model}`,
			body: { prompt: "Once", raw: true, stream: false, max_tokens: 5, lora: "mine" },
		});
	});

	it("runs on the completions route: a raw prompt for a model with OpenAI's inputs", async () => {
		const completion = { choices: [{ index: 0, text: " upon", finish_reason: "stop" }] };
		const asking = ask("text-generation", KIMI, RAW, () => json(completion));
		expect((await outputOf(asking)).choices[0]?.message.content).toBe(" upon");
		expect(asking.call.requests[0]?.url).toBe(`${URL}/v1/completions`);
	});

	it.each([
		[LLAMA, { response_format: { type: "json_schema", json_schema: SCHEMA } }],
		[MISTRAL, { guided_json: SCHEMA }],
	])("runs natively: JSON for %s, with the schema alone", async (model, format) => {
		const { path, body } = await asked(model, { ...HI, response_format: FORMAT });
		expect(path).toBe(`/run/${model}`);
		expect(body).toEqual({ messages: [{ role: "user", content: "hi" }], stream: false, ...format });
	});

	it.each([
		[LLAMA, { json_schema: { name: "a" } }, { type: "json_schema", json_schema: {} }],
		[SCOUT, { json_schema: { name: "a", schema: SCHEMA } }, { type: "json_schema", json_schema: SCHEMA }],
	])("runs natively: JSON for %s, as %j", async (model, format, response_format) => {
		const { body } = await asked(model, { ...HI, response_format: { type: "json_schema", ...format } });
		expect(body).toEqual({ messages: [{ role: "user", content: "hi" }], stream: false, response_format });
	});

	it("rejects a raw prompt over a binding, if the model has OpenAI's inputs", async () => {
		const binding = bindingOver(() => json(jsonMode));
		const call = callOf(() => json(jsonMode), {
			target: { kind: "workers-ai", model: KIMI, binding },
			model: modelOf(KIMI),
		});
		const generate = workersAi(call.target, call.services)["text-generation"];
		expect(await failureOf(Promise.resolve(generate?.(RAW, call)))).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' takes no raw prompts by its binding",
		});
	});

	it("has content parts if the model accepts them, else text", async () => {
		const content = [{ type: "text" as const, text: "hi" }];
		const input: ChatInput = {
			messages: [{ role: "user", content }],
			stream: false,
			response_format: FORMAT,
		};
		expect((await asked(LLAMA, input)).body).toMatchObject({ messages: [{ role: "user", content }] });
		const format = { ...input, response_format: { type: "json_object" as const } };
		expect((await asked(LEGACY, format)).body).toMatchObject({ messages: [{ role: "user", content: "hi" }] });
	});

	it("has all fields of its messages", async () => {
		const calls = [{ id: "t1", type: "function" as const, function: { name: "look", arguments: "{}" } }];
		const messages: ChatInput["messages"] = [
			{ role: "developer", content: "Be brief." },
			{ role: "user", content: "hi", name: "Ann" },
			{ role: "assistant", content: null, tool_calls: calls },
			{ role: "tool", content: "a cat", tool_call_id: "t1" },
		];
		const { body } = await asked(LLAMA, { messages, stream: false, response_format: FORMAT });
		const sent = [
			{ role: "system", content: "Be brief." },
			{ role: "user", content: "hi", name: "Ann" },
			{ role: "assistant", content: "", tool_calls: calls },
			{ role: "tool", content: "a cat", tool_call_id: "t1" },
		];
		expect(body).toEqual(expect.objectContaining({ messages: sent }));
	});

	it("excludes JSON for newer models, and requests without JSON", async () => {
		expect(await asked(KIMI, { ...HI, response_format: FORMAT })).toMatchObject({
			path: "/v1/chat/completions",
			body: { response_format: FORMAT },
		});
		expect((await asked(LLAMA, { ...HI, response_format: { type: "text" } })).path).toBe(
			"/v1/chat/completions",
		);
	});

	it("rejects several answers as retryable", async () => {
		expect((await asked(LLAMA, { ...RAW, n: 1 })).path).toBe(`/run/${LLAMA}`);
		const { call, answer } = ask("text-generation", LLAMA, { ...RAW, n: 2 }, () => json(jsonMode));
		expect(await failureOf(answer)).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' gives one answer a request",
			retryable: true,
		});
		expect(call.requests).toHaveLength(0);
	});

	it("rejects a suffix as retryable", async () => {
		const { answer } = ask("text-generation", LLAMA, { ...RAW, suffix: "end" }, () => json(jsonMode));
		expect(await failureOf(answer)).toMatchObject({ key: "engineRefused", retryable: true });
	});
});

describe("a route to another model", () => {
	it("has the fields of the requested model, unless it leads to another one of the product", () => {
		const model = { ...modelOf(LLAMA), created: "2030-01-01" };
		const answering = (target: string) =>
			upstreamModel(callOf(() => json({}), { target: { model: target }, model })).created;
		expect(answering(LLAMA)).toBe("2030-01-01");
		expect(answering("@cf/someone/unknown")).toBe("2030-01-01");
		expect(upstreamModel(callOf(() => json({}), { target: { model: KIMI }, model })).id).toBe(KIMI);
	});

	it("uses the input format of the answering model", async () => {
		const asking = ask(
			"text-generation",
			KIMI,
			{ ...HI, response_format: FORMAT },
			() => json(jsonMode),
			LLAMA,
		);
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe(`${URL}/run/${LLAMA}`);
	});

	it.each(["../../../../user/tokens", "@cf/../x", "@cf//x", ".", ""])(
		"leads to no other path: '%s'",
		async (model) => {
			const asking = ask("text-classification", LLAMA, { text: "a" }, () => json([]), model);
			expect(await failureOf(asking.answer)).toMatchObject({ key: "noSuchModel", retryable: true });
			expect(asking.call.requests).toHaveLength(0);
		},
	);

	it("encodes the model's name in the path", async () => {
		const asking = ask(
			"text-classification",
			LLAMA,
			{ text: "a" },
			() => json({ result: [] }),
			"@cf/a?b#c/d%2F",
		);
		await asking.answer;
		expect(asking.call.requests[0]?.url).toBe(`${URL}/run/@cf/a%3Fb%23c/d%252F`);
	});
});

describe("a native reply", () => {
	const output = async (reply: string, input: Partial<ChatInput> = {}) =>
		outputOf(ask("text-generation", LLAMA, { ...RAW, ...input }, () => json(reply)));

	it.each([
		["flat", toolCall, "call_uuid-2", '{"city":"Berlin"}'],
		["OpenAI's", toolCallScout, "chatcmpl-tool-6f1d", '{"city": "Berlin"}'],
	])("has tool calls in the form %s", async (_, reply, id, text) => {
		expect((await output(reply)).choices).toEqual([
			{
				index: 0,
				message: {
					role: "assistant",
					content: null,
					tool_calls: [{ id, type: "function", function: { name: "get_weather", arguments: text } }],
				},
				finish_reason: "tool_calls",
			},
		]);
	});

	it("omits the upstream's price", async () => {
		expect((await output(toolCall)).usage).toEqual({
			prompt_tokens: 20,
			completion_tokens: 9,
			total_tokens: 29,
		});
	});

	it("has the JSON of JSON mode as text", async () => {
		expect((await output(jsonMode)).choices[0]?.message.content).toBe(
			'{"name":"India","capital":"New Delhi"}',
		);
	});

	it.each([
		[9, "length"],
		[10, "stop"],
		[undefined, "stop"],
	])("of 9 tokens with max_tokens %s finishes with %s", async (max_tokens, reason) => {
		expect((await output(jsonMode, { max_tokens })).choices[0]?.finish_reason).toBe(reason);
	});

	it("keeps a reply in OpenAI's format", async () => {
		expect(await output(chatCompletion)).toEqual({
			...JSON.parse(chatCompletion).result,
			choices: [
				{
					finish_reason: "stop",
					index: 0,
					logprobs: null,
					matched_stop: 163586,
					message: { content: "Hi", reasoning_content: "Hm.", role: "assistant", tool_calls: null },
				},
			],
		});
	});

	it("accepts a text completion", async () => {
		expect((await output(textCompletion)).choices).toEqual([
			{
				index: 0,
				message: { role: "assistant", content: " upon a time" },
				finish_reason: "length",
				stop_reason: null,
			},
		]);
	});

	it("has the requested choice of a text completion, and its counts", async () => {
		const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
		const { choices, ...completed } = await output(
			JSON.stringify({ result: { choices: [{ text: "a" }, { text: "b" }], usage } }),
		);
		expect(completed.usage).toEqual(usage);
		expect(choices).toEqual([
			{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" },
		]);
	});

	it.each([
		[{ response: "a" }, { content: "a" }],
		[{ response: "" }, { content: "" }],
		[{ response: null, tool_calls: [] }, { content: "" }],
		[{ tool_calls: [{}] }, { content: "" }],
	])("of the text %j has the message %j", async (result, message) => {
		const { choices } = await output(JSON.stringify({ result }), { max_tokens: 10 });
		expect(choices).toStrictEqual([
			{
				index: 0,
				message: { role: "assistant", ...message },
				finish_reason: "tool_calls" in message ? "tool_calls" : "stop",
			},
		]);
	});

	it.each(['{"result":{}}', '{"result":{"tool_calls":[]}}', '{"result":{"choices":[]}}', "[]", "null"])(
		"of another shape is refused: %s",
		async (reply) => {
			expect(await failureOf(output(reply))).toMatchObject({ key: "executionFailed" });
		},
	);
});

describe("a native stream", () => {
	const stream = (text: string, input: Partial<ChatInput> = {}) =>
		chunksOf(ask("text-generation", LLAMA, { ...RAW, ...input, stream: true }, () => eventStream(text)));
	/** As they came; ours have `logprobs`, as OpenAI's have. */
	const passed = (delta: object, finish_reason: string | null = null) => [{ index: 0, delta, finish_reason }];
	const choice = (delta: object, finish_reason: string | null = null) => [
		{ index: 0, delta, logprobs: null, finish_reason },
	];

	it("is converted to OpenAI's chunks", async () => {
		const { chunks, done } = await stream(nativeSse);
		expect(done).toBe(true);
		expect(chunks.map(({ choices }) => choices)).toEqual([
			choice({ role: "assistant", content: "" }),
			choice({ content: "Hello" }),
			choice({ content: "!" }),
			choice({}, "stop"),
			[],
		]);
		expect(chunks.at(-1)?.usage).toEqual({ prompt_tokens: 10, completion_tokens: 50, total_tokens: 60 });
		expect(new Set(chunks.map(({ id, model }) => `${id} ${model}`))).toEqual(
			new Set([`chatcmpl-uuid-1 ${LLAMA}`]),
		);
	});

	it("finishes with length at max_tokens", async () => {
		const { chunks } = await stream(nativeSse, { max_tokens: 50 });
		expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("length");
	});

	it("has tool calls in pieces", async () => {
		const { chunks } = await stream(nativeToolsSse);
		const part = (more: object) => choice({ tool_calls: [{ index: 0, ...more }] });
		expect(chunks.map(({ choices }) => choices)).toEqual([
			choice({ role: "assistant", content: "" }),
			part({ id: "chatcmpl-tool-1", type: "function", function: { name: "get_weather", arguments: "" } }),
			part({ function: { arguments: '{"city":' } }),
			part({ function: { arguments: '"Berlin"}' } }),
			choice({}, "tool_calls"),
			[],
		]);
		expect(chunks.at(-1)?.usage).not.toHaveProperty("neurons");
	});

	it("has two complete flat tool calls", async () => {
		const calls = ["a", "b"].map((name) => ({ name, arguments: { x: name } }));
		const { chunks } = await stream(`data: ${JSON.stringify({ tool_calls: calls })}\n\ndata: [DONE]\n\n`);
		expect(
			chunks.flatMap(({ choices }) => choices.flatMap(({ delta }) => delta.tool_calls ?? [])),
		).toMatchObject([
			{ index: 0, function: { name: "a", arguments: '{"x":"a"}' } },
			{ index: 1, function: { name: "b", arguments: '{"x":"b"}' } },
		]);
	});

	const frames = (...values: unknown[]) =>
		values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
	const DONE = "data: [DONE]\n\n";

	it("assigns pieces without an index to the last call", async () => {
		const sent = [
			{ index: 4, id: "x", function: { name: "a", arguments: "" } },
			{ index: 5, id: "y", function: { name: "b", arguments: null } },
			{ index: 4, function: { arguments: '{"x":"1"}' } },
			{ function: { arguments: '{"y":"2"' } },
			{ index: 9, function: { arguments: "}" } },
			{ index: 4, name: "", arguments: "" },
		];
		const { chunks, done } = await stream(frames(...sent.map((call) => ({ tool_calls: [call] }))) + DONE);
		expect(done).toBe(true);
		const deltas = chunks.flatMap(({ choices }) =>
			choices.map(({ delta }) => delta.tool_calls?.[0] ?? delta),
		);
		expect(deltas).toEqual([
			{ role: "assistant", content: "" },
			{ index: 0, id: "x", type: "function", function: { name: "a", arguments: "" } },
			{ index: 1, id: "y", type: "function", function: { name: "b", arguments: "" } },
			{ index: 0, function: { arguments: '{"x":"1"}' } },
			{ index: 1, function: { arguments: '{"y":"2"' } },
			{ index: 1, function: { arguments: "}" } },
			{},
		]);
		expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
	});

	it("numbers calls without an index from 0, and assigns pieces to them", async () => {
		const two = { tool_calls: [{ name: "a" }, { name: "b" }] };
		const piece = { tool_calls: [{ index: 1, arguments: '{"x":1}' }] };
		const { chunks } = await stream(frames(two, piece) + DONE);
		expect(chunks[3]?.choices[0]?.delta).toEqual({
			tool_calls: [{ index: 1, function: { arguments: '{"x":1}' } }],
		});
	});

	it("has one role if frames of both formats are mixed", async () => {
		const rolesOf = async (...sent: object[]) =>
			(await stream(frames(...sent) + DONE)).chunks.flatMap(({ choices }) =>
				choices.map(({ delta }) => delta.role),
			);
		const completion = { choices: [{ text: "b" }] };
		expect(await rolesOf(completion)).toEqual(["assistant", undefined]);
		expect(await rolesOf(completion, { response: "a" })).toEqual(["assistant", undefined, undefined]);
	});

	it.each(["", frames({ response: "" })])("begins with its first output: %j", async (text) => {
		const asking = ask("text-generation", LLAMA, { ...RAW, stream: true }, () => eventStream(text));
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' was cut off mid-answer",
		});
	});

	it("has no call without a name", async () => {
		const { chunks } = await stream(frames({ tool_calls: [{ arguments: "{}" }] }) + DONE);
		expect(chunks.flatMap(({ choices }) => choices)).toMatchObject([
			{ delta: { role: "assistant" } },
			{ delta: {}, finish_reason: "stop" },
		]);
	});

	it("has the requested one of two choices without an index", async () => {
		const both = frames({ choices: [{ text: "a" }, { text: "b" }] }, { choices: [{ text: "c" }] });
		expect((await stream(both)).done).toBe(false);
		const { chunks, done } = await stream(
			both + frames({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
		);
		expect(done).toBe(true);
		expect(chunks.flatMap(({ choices }) => choices)).toEqual([
			{ index: 0, delta: { role: "assistant", content: "a" }, finish_reason: null },
			{ index: 0, delta: { content: "c" }, finish_reason: null },
			{ index: 0, delta: {}, finish_reason: "stop" },
		]);
	});

	it("has a role and a finish reason without output", async () => {
		const { chunks } = await stream(frames({ response: "" }, { response: null }) + DONE);
		expect(chunks.map(({ choices }) => choices)).toEqual([
			choice({ role: "assistant", content: "" }),
			choice({}, "stop"),
		]);
	});

	it("keeps the heading of its first frame", async () => {
		const { chunks } = await stream(
			frames(
				{ id: "a", created: 5, model: "b", response: "x" },
				{ id: "c", created: 6, model: "d", response: { y: 1 } },
			) + DONE,
		);
		expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`))).toEqual(
			new Set(["a 5 b"]),
		);
		expect(chunks.map(({ choices }) => choices[0]?.delta.content)).toEqual(["", "x", '{"y":1}', undefined]);
	});

	it("ends with an error of the API", async () => {
		const failed = frames(
			{ response: "x" },
			{ errors: [{ code: 3040, message: "AiError: Out of capacity: full" }] },
		);
		expect((await stream(failed)).error).toMatchObject({ key: "outOfCapacity", description: "full" });
	});

	it("forwards chunks in OpenAI's format, with the counts of the last frame", async () => {
		const { chunks, done } = await stream(openaiSse);
		expect(done).toBe(true);
		expect(chunks.map(({ choices }) => choices)).toEqual([
			passed({ content: "", role: "assistant" }),
			passed({ reasoning: "Hm." }),
			passed({ content: "Hi" }),
			passed({}, "stop"),
			[],
		]);
		expect(chunks.at(-1)).toEqual({
			id: "id-1776784307643",
			object: "chat.completion.chunk",
			created: 1776784307,
			model: "@cf/moonshotai/kimi-k2.6",
			choices: [],
			usage: { prompt_tokens: 57, completion_tokens: 28, total_tokens: 85 },
		});
	});

	it("has a role for a text completion", async () => {
		const frame = (text: string, finish_reason: string | null) =>
			`data: ${JSON.stringify({ id: "cmpl-1", choices: [{ index: 0, text, finish_reason }] })}\n\n`;
		const { chunks } = await stream(`${frame(" upon", null)}${frame("", "length")}data: [DONE]\n\n`);
		expect(chunks.map(({ choices }) => choices)).toEqual([
			passed({ role: "assistant", content: " upon" }),
			passed({ content: "" }, "length"),
		]);
	});

	it.each([
		["without its end", nativeSse.replace("data: [DONE]\n\n", "")],
		["amid a frame", nativeSse.slice(0, 90)],
		["with a frame that is none", `${nativeSse.split("\n\n")[0]}\n\ndata: 7\n\n`],
	])("is interrupted %s", async (_, text) => {
		const { done, error } = await stream(text);
		expect(done).toBe(false);
		expect(error).toMatchObject({ key: "executionFailed" });
	});

	it("ends with the failure of its code", async () => {
		const error = { message: "AiError: Out of capacity: full", type: "rate_limit_exceeded", code: 3040 };
		const first = nativeSse.split("\n\n")[0];
		const ended = await stream(`${first}\n\ndata: ${JSON.stringify({ error })}\n\n`);
		expect(ended.error).toMatchObject({ key: "outOfCapacity", description: "full" });
	});

	it("returns a complete reply as a value", async () => {
		const asking = ask("text-generation", LLAMA, { ...RAW, stream: true }, () => json(toolCall));
		expect((await outputOf(asking)).choices[0]?.finish_reason).toBe("tool_calls");
	});
});

describe("Moondream", () => {
	const LOOK: ChatInput = {
		messages: [
			{
				role: "user",
				content: [
					{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
					{ type: "text", text: "What?" },
				],
			},
		],
		stream: false,
		max_tokens: 9,
		reasoning_effort: null,
	};
	const reply = {
		finish_reason: "stop",
		metrics: { input_tokens: 3, output_tokens: 2 },
		answer: "A cat.",
		reasoning: { text: "Ears.", grounding: [] },
	};

	it("sends one image", async () => {
		const asking = ask("text-generation", MOONDREAM, LOOK, () => json({ result: reply }));
		expect(await outputOf(asking)).toMatchObject({
			choices: [{ message: { content: "A cat.", reasoning_content: "Ears." }, finish_reason: "stop" }],
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
		});
		expect(asking.call.requests[0]?.headers.get("accept")).toBe("application/json");
		expect(asking.call.requests[0]).toMatchObject({
			url: `${URL}/run/${MOONDREAM}`,
			json: {
				task: "query",
				question: "What?",
				image: "data:image/png;base64,AAAA",
				reasoning: false,
				max_tokens: 9,
				stream: false,
			},
		});
	});

	it("streams the answer", async () => {
		const frames = [
			{ reasoning: { text: "Ears." } },
			{ answer: "A " },
			{ answer: "cat." },
			{ ...reply, answer: "", reasoning: undefined },
		];
		const text = `${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("")}data: [DONE]\n\n`;
		const { chunks, done } = await chunksOf(
			ask("text-generation", MOONDREAM, { ...LOOK, stream: true }, () => eventStream(text)),
		);
		expect(done).toBe(true);
		expect(chunks.map(({ choices }) => choices[0]?.delta)).toEqual([
			{ role: "assistant", content: "" },
			{ reasoning_content: "Ears." },
			{ content: "A " },
			{ content: "cat." },
			{},
			undefined,
		]);
		expect(chunks.at(-1)?.usage?.total_tokens).toBe(5);
	});

	it.each([
		["its last frame", `data: {"finish_reason":"length"}\n\n`, "length"],
		["[DONE]", "data: [DONE]\n\n", "stop"],
	])("streams only the end: %s", async (_, text, finish_reason) => {
		const { chunks, done } = await chunksOf(
			ask("text-generation", MOONDREAM, { ...LOOK, stream: true }, () => eventStream(text)),
		);
		expect(done).toBe(true);
		expect(chunks.map(({ choices, usage }) => [choices, usage])).toEqual([
			[[{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }], undefined],
			[[{ index: 0, delta: {}, finish_reason }], undefined],
		]);
	});

	it("describes an image without a question", async () => {
		const asking = ask("text-generation", MOONDREAM, LOOK, () => json({ result: { caption: "A dog." } }));
		const { choices, usage } = await outputOf(asking);
		expect(choices).toEqual([
			{ index: 0, message: { role: "assistant", content: "A dog." }, finish_reason: "stop" },
		]);
		expect(usage).toBeUndefined();
	});

	it.each(["", 'data: {"answer":""}\n\n'])("begins with its first output: %j", async (text) => {
		const asking = ask("text-generation", MOONDREAM, { ...LOOK, stream: true }, () => eventStream(text));
		expect(await failureOf(asking.answer)).toMatchObject({ key: "executionFailed" });
	});

	it("sends the last message, and needs one", async () => {
		const none = ask("text-generation", MOONDREAM, { ...LOOK, messages: [] }, () => json({ result: reply }));
		expect(await failureOf(none.answer)).toMatchObject({
			key: "invalidInput",
			description: `Invalid input: ${MOONDREAM} takes messages`,
		});
		const messages: ChatInput["messages"] = [...LOOK.messages, { role: "user", content: "And?" }];
		const asking = ask("text-generation", MOONDREAM, { messages, stream: false }, () =>
			json({ result: reply }),
		);
		await asking.answer;
		expect(asking.call.requests[0]?.json).toEqual({ task: "query", question: "And?", stream: false });
	});

	it("rejects two images as retryable", async () => {
		const part = { type: "image_url" as const, image_url: { url: "data:image/png;base64,AAAA" } };
		const messages: ChatInput["messages"] = [{ role: "user", content: [part, part] }];
		const asking = ask("text-generation", MOONDREAM, { ...LOOK, messages }, () => json({ result: reply }));
		expect(await failureOf(asking.answer)).toMatchObject({
			key: "engineRefused",
			description: "The backend 'lab' looks at one image per request",
			retryable: true,
		});
	});

	it.each(["without its end", "with an error"])("interrupts streams %s", async (how) => {
		const error = { message: "AiError: Out of capacity: full", code: 3040 };
		const last = how === "with an error" ? `data: ${JSON.stringify({ error })}\n\n` : "";
		const { done, error: thrown } = await chunksOf(
			ask("text-generation", MOONDREAM, { ...LOOK, stream: true }, () =>
				eventStream(`data: {"answer":"A "}\n\n${last}`),
			),
		);
		expect(done).toBe(false);
		expect(thrown).toMatchObject({ key: last ? "outOfCapacity" : "executionFailed" });
	});
});
