import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import chatJson from "../../fixtures/ollama/chat.json?raw";
import chatLines from "../../fixtures/ollama/chat.ndjson?raw";
import chatImage from "../../fixtures/ollama/chat-image.json?raw";
import chatSchema from "../../fixtures/ollama/chat-schema.json?raw";
import thinkingLines from "../../fixtures/ollama/chat-thinking.ndjson?raw";
import chatTools from "../../fixtures/ollama/chat-tools.json?raw";
import notFound from "../../fixtures/ollama/error-not-found.json?raw";
import generateJson from "../../fixtures/ollama/generate.json?raw";
import generateLines from "../../fixtures/ollama/generate.ndjson?raw";
import failingLines from "../../fixtures/ollama/generate-failing.ndjson?raw";
import { chunksOf, outputOf } from "../ask.ts";
import { failureOf, json, tap } from "../upstream.ts";
import { ask } from "./ask.ts";
import { lines } from "./lines.ts";

const HI: ChatInput = { messages: [{ role: "user", content: "hi" }], stream: false };
const PIXEL = "data:image/png;base64,iVBORw0KGgo=";
const tool = (name: string) => ({ type: "function" as const, function: { name } });

async function bodyOf(input: ChatInput): Promise<Record<string, unknown>> {
	const { call, answer } = ask("text-generation", input, () => json(chatJson));
	await answer;
	expect(call.requests.map(({ url }) => url)).toEqual(["http://localhost:11434/api/chat"]);
	return call.requests[0]?.json ?? {};
}

describe("a chat request", () => {
	it("has only messages if nothing else is set", async () => {
		expect(await bodyOf(HI)).toEqual({
			model: "llama3.2",
			messages: [{ role: "user", content: "hi" }],
			stream: false,
			options: {},
		});
	});

	it("renames all fields", async () => {
		const input: ChatInput = {
			stream: false,
			messages: [
				{ role: "developer", content: "Be short." },
				{
					role: "user",
					content: [
						{ type: "text", text: "What is" },
						{ type: "text", text: "this?" },
						{ type: "image_url", image_url: { url: PIXEL } },
					],
				},
				{
					role: "assistant",
					content: null,
					reasoning_content: "A picture.",
					tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"at":1}' } }],
				},
				{ role: "tool", content: "a cat", tool_call_id: "c1" },
			],
			max_tokens: 9,
			temperature: 0.5,
			top_p: 0.9,
			top_k: 40,
			seed: 3,
			repetition_penalty: 1.1,
			frequency_penalty: 0.1,
			presence_penalty: 0.2,
			stop: ["\n"],
			logprobs: true,
			top_logprobs: 4,
			tools: [tool("look")],
			tool_choice: "required",
			reasoning_effort: "high",
			passthrough: { min_p: 0.05, typical_p: 0.9, mirostat: 2, store: true },
		};
		expect(await bodyOf(input)).toEqual({
			model: "llama3.2",
			stream: false,
			messages: [
				{ role: "system", content: "Be short." },
				{ role: "user", content: "What is\nthis?", images: ["iVBORw0KGgo="] },
				{
					role: "assistant",
					content: "",
					thinking: "A picture.",
					tool_calls: [{ id: "c1", function: { name: "look", arguments: { at: 1 } } }],
				},
				{ role: "tool", content: "a cat", tool_name: "look", tool_call_id: "c1" },
			],
			options: {
				num_predict: 9,
				temperature: 0.5,
				top_p: 0.9,
				top_k: 40,
				seed: 3,
				repeat_penalty: 1.1,
				min_p: 0.05,
				typical_p: 0.9,
				frequency_penalty: 0.1,
				presence_penalty: 0.2,
				stop: ["\n"],
			},
			logprobs: true,
			top_logprobs: 4,
			tools: [tool("look")],
			think: "high",
		});
	});

	it.each<[string, Partial<ChatInput>, unknown]>([
		["off", { reasoning_effort: null }, false],
		["least", { reasoning_effort: "minimal" }, "low"],
		["by the template", { chat_template_kwargs: { enable_thinking: false } }, false],
		["the model's own", { chat_template_kwargs: { clear_thinking: true } }, undefined],
	])("sets reasoning %s", async (_, fields, think) => {
		expect((await bodyOf({ ...HI, ...fields })).think).toBe(think);
	});

	it.each<[ChatInput["response_format"], unknown]>([
		[{ type: "text" }, undefined],
		[{ type: "json_object" }, "json"],
		[{ type: "json_schema", json_schema: { name: "a", schema: { type: "object" } } }, { type: "object" }],
		[{ type: "json_schema", json_schema: { name: "a" } }, "json"],
	])("converts the format %j", async (response_format, format) => {
		expect((await bodyOf({ ...HI, response_format })).format).toEqual(format);
	});

	it.each<[NonNullable<ChatInput["tool_choice"]>, string[] | undefined]>([
		["auto", ["a", "b"]],
		["none", undefined],
		[{ type: "function", function: { name: "b" } }, ["b"]],
		[{ type: "allowed_tools", allowed_tools: { mode: "auto", tools: [tool("a"), null, "junk"] } }, ["a"]],
	])("with the choice %j offers %j", async (tool_choice, names) => {
		const { tools } = await bodyOf({ ...HI, tools: [tool("a"), tool("b")], tool_choice });
		expect((tools as ReturnType<typeof tool>[] | undefined)?.map((each) => each.function.name)).toEqual(
			names,
		);
	});

	it.each(["", "[1]", "not json"])(
		"gives an earlier call with the arguments %j an empty object",
		async (text) => {
			const call = { id: "c", type: "function" as const, function: { name: "a", arguments: text } };
			const { messages } = await bodyOf({
				...HI,
				messages: [{ role: "assistant", content: "", tool_calls: [call] }],
			});
			expect(messages).toMatchObject([{ tool_calls: [{ function: { arguments: {} } }] }]);
		},
	);

	it("names the tool of a result without its call", async () => {
		const { messages } = await bodyOf({ ...HI, messages: [{ role: "tool", content: "a", name: "look" }] });
		expect(messages).toEqual([{ role: "tool", content: "a", tool_name: "look" }]);
	});

	it.each<[string, Partial<ChatInput>, string]>([
		[
			"an image part without an image",
			{ messages: [{ role: "user", content: [{ type: "image_url" }] }] },
			"The backend 'lab' takes images as data URLs alone",
		],
		[
			"two continuations",
			{ messages: [], prompt: "a", n: 2 },
			"The backend 'lab' gives one answer a request",
		],
		["two answers", { n: 2 }, "The backend 'lab' gives one answer a request"],
		[
			"an image that is elsewhere",
			{
				messages: [
					{ role: "user", content: [{ type: "image_url", image_url: { url: "https://a.test/b.png" } }] },
				],
			},
			"The backend 'lab' takes images as data URLs alone",
		],
		[
			"sound",
			{
				messages: [
					{
						role: "user",
						content: [{ type: "input_audio", input_audio: { data: "", format: "wav" } }],
					},
				],
			},
			"The backend 'lab' takes no input_audio among the messages",
		],
	])("rejects %s as retryable", async (_, fields, description) => {
		const { call, answer } = ask("text-generation", { ...HI, ...fields }, () => json(chatJson));
		expect(await failureOf(answer)).toMatchObject({ key: "engineRefused", description, retryable: true });
		expect(call.requests).toHaveLength(0);
	});

	it.each([
		["logit_bias", { logit_bias: { 5: 1 } }, "takes no logit_bias"],
		["several answers", { n: 2 }, "gives one answer a request"],
	])("rejects %s before a call", async (_, more, sentence) => {
		const { call, answer } = ask("text-generation", { ...HI, ...more }, () => json(chatJson));
		expect(await failureOf(answer)).toMatchObject({
			key: "engineRefused",
			retryable: true,
			description: `The backend 'lab' ${sentence}`,
		});
		expect(call.requests).toEqual([]);
	});

	it("omits an empty logit_bias", async () => {
		const body = await bodyOf({ ...HI, logit_bias: {}, n: 1 });
		expect(Object.keys(body)).not.toContain("logit_bias");
		expect(body.options).toEqual({});
	});

	it("rejects an adapter with 405", async () => {
		const { answer } = ask("text-generation", { ...HI, lora: "mine" }, () => json(chatJson));
		expect(await failureOf(answer)).toMatchObject({ key: "loraUnsupported" });
	});
});

describe("a reply", () => {
	const output = (text: string) => outputOf(ask("text-generation", HI, () => json(text)));

	it("is a completion with counts and time", async () => {
		expect(await output(chatJson)).toEqual({
			id: "chatcmpl-uuid-1",
			object: "chat.completion",
			created: Date.parse("2023-12-12T14:13:43Z") / 1000,
			model: "llama3.2",
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: "Hello! How are you today?" },
					finish_reason: "stop",
				},
			],
			usage: { prompt_tokens: 26, completion_tokens: 298, total_tokens: 324 },
		});
	});

	it("has tool calls with JSON text and an id", async () => {
		const { choices } = await output(chatTools);
		expect(choices).toEqual([
			{
				index: 0,
				message: {
					role: "assistant",
					content: null,
					tool_calls: [
						{
							id: "call_uuid-1",
							type: "function",
							function: {
								name: "get_current_weather",
								arguments: '{"format":"celsius","location":"Paris, FR"}',
							},
						},
					],
				},
				finish_reason: "tool_calls",
			},
		]);
	});

	it("has the JSON of a schema as text", async () => {
		expect((await output(chatSchema)).choices[0]?.message.content).toBe('{"age": 22, "available": false}');
	});

	it("has the time of the reply if none is sent", async () => {
		vi.useFakeTimers({ now: 4_000_000_000_999, toFake: ["Date"] });
		onTestFinished(() => void vi.useRealTimers());
		for (const created_at of [undefined, "", "yesterday"]) {
			const reply = { message: { content: "5" }, done: true, created_at };
			expect((await output(JSON.stringify(reply))).created).toBe(4_000_000_000);
		}
		const early = { message: { content: "5" }, done: true, created_at: "1970-01-01T00:00:02.900Z" };
		expect((await output(JSON.stringify(early))).created).toBe(2);
	});

	it.each([
		["a text", { content: "a" }, "a"],
		["an empty text", { content: "" }, ""],
		["one call", { tool_calls: [{ function: { name: "a" } }] }, null],
	])("has the content of %s", async (_, message, content) => {
		const { choices } = await output(JSON.stringify({ message, done: true }));
		expect(choices[0]?.message.content).toBe(content);
		for (const call of choices[0]?.message.tool_calls ?? []) expect(call.function.arguments).toBe("{}");
		expect(choices[0]?.message.tool_calls?.length).toBe("tool_calls" in message ? 1 : undefined);
	});

	it("has arguments that are text as they are", async () => {
		const call = { function: { name: "look", arguments: '{"at":1}' } };
		const { choices } = await output(JSON.stringify({ message: { tool_calls: [call] }, done: true }));
		expect(choices[0]?.message.tool_calls?.[0]?.function).toEqual({ name: "look", arguments: '{"at":1}' });
	});

	it("has reasoning, the finish reason and log probabilities", async () => {
		const logprobs = [{ token: "5", logprob: -0.1, top_logprobs: [] }];
		const reply = {
			message: { content: "5", thinking: "2 + 3" },
			logprobs,
			done: true,
			done_reason: "length",
			prompt_eval_count: null,
		};
		expect(await output(JSON.stringify(reply))).toMatchObject({
			created: expect.any(Number),
			model: "llama3.2",
			choices: [
				{
					message: { content: "5", reasoning_content: "2 + 3" },
					logprobs: { content: logprobs },
					finish_reason: "length",
				},
			],
		});
		expect(await output(JSON.stringify(reply))).not.toHaveProperty("usage");
	});

	it("accepts an absent count of a cached prompt", async () => {
		const reply = { message: { content: "5" }, done: true, eval_count: 4 };
		expect((await output(JSON.stringify(reply))).usage).toEqual({
			prompt_tokens: 0,
			completion_tokens: 4,
			total_tokens: 4,
		});
	});

	it.each(["{}", "[]", '{"done":true}', '{"message":7,"done":true}'])(
		"of another shape is refused: %s",
		async (text) => {
			expect(await failureOf(output(text))).toMatchObject({ key: "executionFailed" });
		},
	);

	it.each([
		{ role: "assistant", answer: "hello" },
		{ role: "assistant", content: "", answer: "hello" },
		{ role: "assistant" },
	])("in which nothing can be read is refused, not an empty answer: %j", async (message) => {
		const text = JSON.stringify({ model: "llama3.2", message, done: true, done_reason: "stop" });
		expect(await failureOf(output(text))).toMatchObject({ key: "executionFailed" });
	});

	it.each([
		[{ role: "assistant", content: "" }, "stop"],
		[{ role: "assistant" }, "length"],
	])("may be empty: %j, %s", async (message, done_reason) => {
		const text = JSON.stringify({ model: "llama3.2", message, done: true, done_reason });
		expect(await output(text)).toMatchObject({ choices: [{ message: { content: "" } }] });
	});
});

describe("a stream", () => {
	const stream = (text: string, input: Partial<ChatInput> = {}) =>
		chunksOf(ask("text-generation", { ...HI, ...input, stream: true }, () => lines(text)));
	const head = {
		id: "chatcmpl-uuid-1",
		object: "chat.completion.chunk",
		created: Date.parse("2023-08-04T15:52:19Z") / 1000,
		model: "llama3.2",
	};

	it("is converted to OpenAI's chunks, usage last", async () => {
		const { chunks, done } = await stream(chatLines);
		expect(done).toBe(true);
		expect(chunks).toEqual([
			{
				...head,
				choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
			},
			{ ...head, choices: [{ index: 0, delta: { content: "The" }, finish_reason: null }] },
			{ ...head, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
			{
				...head,
				choices: [],
				usage: { prompt_tokens: 26, completion_tokens: 282, total_tokens: 308 },
			},
		]);
	});

	it("separates reasoning, and has tool calls in order", async () => {
		const { chunks } = await stream(thinkingLines);
		expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))).toEqual([
			{ role: "assistant", content: "" },
			{ reasoning_content: "A city" },
			{ reasoning_content: " is named." },
			{
				tool_calls: [
					{
						index: 0,
						id: "call_1",
						type: "function",
						function: { name: "get_temperature", arguments: '{"city":"New York"}' },
					},
				],
			},
			{
				tool_calls: [
					{
						index: 1,
						id: expect.stringMatching(/^call_uuid-\d$/),
						type: "function",
						function: { name: "get_conditions", arguments: '{"city":"London"}' },
					},
				],
			},
			{},
		]);
		expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe("tool_calls");
	});

	it("sends a raw prompt, and reads text of the last line", async () => {
		const asking = ask("text-generation", { messages: [], prompt: "Say", stream: true, max_tokens: 7 }, () =>
			lines(generateLines),
		);
		const { chunks, done } = await chunksOf(asking);
		expect(asking.call.requests[0]).toMatchObject({
			url: "http://localhost:11434/api/generate",
			json: { model: "llama3.2", prompt: "Say", raw: true, stream: true, options: { num_predict: 7 } },
		});
		expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe(
			"That's a fantastic question!",
		);
		expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop");
		expect(done).toBe(true);
	});

	it("ends at its last line, if the connection stays open", async () => {
		const upstream = tap();
		upstream.push(chatLines);
		const response = () =>
			new Response(upstream.body, { headers: { "content-type": "application/x-ndjson" } });
		const { done } = await chunksOf(ask("text-generation", { ...HI, stream: true }, response));
		expect(done).toBe(true);
		expect(upstream.cancelled).toBe(true);
	});

	it("finishes with one call, and has log probabilities without a text", async () => {
		const logprobs = [{ token: "", logprob: -0.1, top_logprobs: [] }];
		const called = { message: { tool_calls: [{ function: { name: "a" } }] }, logprobs, done: false };
		const { chunks } = await stream(
			`${JSON.stringify(called)}\n${JSON.stringify({ message: {}, done: true })}\n`,
		);
		expect(chunks.map(({ choices }) => choices[0])).toMatchObject([
			{ delta: { role: "assistant", content: "" } },
			{ delta: { content: "" }, logprobs: { content: logprobs } },
			{ delta: { tool_calls: [{ index: 0, function: { name: "a", arguments: "{}" } }] } },
			{ delta: {}, finish_reason: "tool_calls" },
		]);
	});

	it("ends with a failure without the engine's message", async () => {
		const { chunks, done, error } = await stream(failingLines);
		expect(chunks.map(({ choices }) => choices[0]?.delta.content).join("")).toBe(" Yes.Ican");
		expect(done).toBe(false);
		expect(error).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' failed with HTTP 500",
		});
		expect(String(error)).not.toContain("an error was encountered");
	});

	it.each([
		["without its last line", `${chatLines.split("\n")[0]}\n`],
		["amid a line", chatLines.slice(0, -30)],
		["with a line that is none", `${chatLines.split("\n")[0]}\nnull\n`],
	])("is interrupted %s", async (_, text) => {
		const { chunks, done, error } = await stream(text);
		expect(chunks.length).toBeGreaterThan(0);
		expect(done).toBe(false);
		expect(error).toMatchObject({ key: "executionFailed" });
	});

	it("fails at its end if nothing in it could be read", async () => {
		const line = (message: object, done: boolean) => JSON.stringify({ model: "llama3.2", message, done });
		const sent = [line({ role: "assistant", answer: "hel" }, false), line({ role: "assistant" }, true)];
		const text = `${sent.join("\n")}\n`;
		const asking = ask("text-generation", { messages: [], stream: true }, () => lines(text));
		expect(await failureOf(asking.answer)).toMatchObject({ key: "executionFailed" });
	});
});

describe("a raw prompt", () => {
	it("uses the model's template with a suffix", async () => {
		const asking = ask(
			"text-generation",
			{ messages: [], prompt: "def f():", suffix: "return 1", stream: false },
			() => json(generateJson),
		);
		const { choices, usage } = await outputOf(asking);
		expect(asking.call.requests[0]?.json).toEqual({
			model: "llama3.2",
			prompt: "def f():",
			suffix: "return 1",
			stream: false,
			options: {},
		});
		expect(choices[0]?.message.content).toBe("The sky is blue because it is the color of the sky.");
		expect(usage?.total_tokens).toBe(316);
	});
});

describe("an image", () => {
	it("is described with reasoning disabled", async () => {
		const bytes = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
		const asking = ask("image-to-text", { image: { bytes }, prompt: "What?", max_tokens: 5 }, () =>
			json(chatImage),
		);
		expect((await outputOf(asking)).description).toMatch(/^The image features a cute, little pig/);
		expect(asking.call.requests[0]?.json).toEqual({
			model: "llama3.2",
			stream: false,
			messages: [{ role: "user", content: "What?", images: ["iVBORw0KGgo="] }],
			think: false,
			options: { num_predict: 5 },
		});
	});

	it("has the counts that are sent, and is refused without a text", async () => {
		const image = { bytes: Uint8Array.of(1) };
		const described = (reply: object) =>
			outputOf(ask("image-to-text", { image }, () => json({ done: true, ...reply })));
		expect(await described({ message: { content: " A pig. " } })).toEqual({ description: "A pig." });
		expect(await described({ message: { content: "A pig." }, prompt_eval_count: 3, eval_count: 2 })).toEqual({
			description: "A pig.",
			usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
		});
		expect(await failureOf(described({ message: { content: " " } }))).toMatchObject({
			key: "executionFailed",
			description: "The backend 'lab' answered with no text",
		});
	});
});

describe("a missing model", () => {
	it("is named with the command that downloads it", async () => {
		const { answer } = ask("text-generation", HI, () => json(notFound, 404));
		expect(await failureOf(answer)).toMatchObject({
			key: "noSuchModel",
			description:
				"No such model @cf/lab/model or task: the backend 'lab' has no model 'llama3.2' (`ollama pull llama3.2` fetches it)",
			retryable: true,
			upstream: { backend: "lab", status: 404 },
		});
	});

	it.each([
		[400, "llama3.2 does not support tools", "engineRefused"],
		[503, "server busy, please try again.  maximum pending requests exceeded", "outOfCapacity"],
		[500, "llama runner process has terminated", "executionFailed"],
	])("is not the meaning of %i", async (status, error, key) => {
		const { answer } = ask("text-generation", HI, () => json({ error }, status));
		const failure = await failureOf(answer);
		expect(failure).toMatchObject({ key });
		expect(String(failure)).not.toContain("pull");
	});
});
