import { describe, expect, it } from "vitest";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import { adHocModel } from "../../../src/models/catalog.ts";
import { DONE, frame } from "../../../src/streams/sse.ts";
import type { ChatCompletion } from "../../../src/tasks/text-generation/types.ts";
import {
	chunk,
	completion,
	delta,
	finish,
	hubText,
	KIMI,
	NOW,
	QWEN,
	split,
	toolCall,
	USAGE,
	usageChunk,
	writtenEvents,
	writtenJson,
} from "./chat.ts";

const messages = [{ role: "user", content: "Hello" }];
const value = (output: ChatCompletion, model = KIMI, sent: object = { messages }) =>
	writtenJson(model, sent, { kind: "value", output });

describe("a chat completion", () => {
	it("is the engine's reply with the catalogue's model name", () => {
		const output = completion(
			{ content: "Hi", reasoning_content: "Hm", tool_calls: null },
			{ id: "chatcmpl-abc", system_fingerprint: "fp", ...{ timings: { n: 1 } } },
		);
		expect(JSON.stringify(value(output))).toBe(
			JSON.stringify({
				id: "chatcmpl-abc",
				object: "chat.completion",
				created: 1_776_784_300,
				model: "@cf/moonshotai/kimi-k2.6",
				choices: [
					{
						index: 0,
						message: {
							role: "assistant",
							content: "Hi",
							reasoning_content: "Hm",
							tool_calls: null,
							refusal: null,
						},
						finish_reason: "stop",
						logprobs: null,
					},
				],
				usage: USAGE,
				system_fingerprint: "fp",
				timings: { n: 1 },
			}),
		);
	});

	it("has its call in the legacy form if the caller sent functions", () => {
		const called = completion({ content: null, tool_calls: [toolCall("now", "{}")] });
		const output = {
			...called,
			choices: called.choices.map((choice) => ({ ...choice, finish_reason: "tool_calls" })),
		};
		const sent = { messages, functions: [{ name: "now" }], function_call: { name: "now" } };
		const { choices } = value(output, KIMI, sent) as { choices: { message: object }[] };
		expect(choices[0]).toMatchObject({
			message: { content: null, function_call: { name: "now", arguments: "{}" } },
			finish_reason: "function_call",
		});
		expect(choices[0]?.message).not.toHaveProperty("tool_calls");
	});

	it("has all required fields if the engine omits them", () => {
		const bare = {
			choices: [{ message: { tool_calls: [toolCall("now", "{}")] } }],
		} as unknown as ChatCompletion;
		expect(value(bare)).toStrictEqual({
			id: `id-${NOW}`,
			object: "chat.completion",
			created: Math.floor(NOW / 1000),
			model: KIMI.id,
			choices: [
				{
					index: 0,
					message: { role: "assistant", content: null, refusal: null, tool_calls: [toolCall("now", "{}")] },
					finish_reason: "stop",
					logprobs: null,
				},
			],
		});
	});

	it("keeps every choice, its logprobs and vLLM's fields", () => {
		const choice = {
			index: 1,
			message: { role: "assistant" as const, content: "b" },
			finish_reason: "length",
			logprobs: { content: [] },
			stop_reason: 5,
		};
		const output = completion({ content: "a" });
		expect(value({ ...output, choices: [...output.choices, choice] })).toMatchObject({
			choices: [{ index: 0 }, { ...choice, message: { content: "b", refusal: null } }],
		});
		expect(value(output)).not.toHaveProperty("prompt_logprobs");
		expect(value(output, QWEN)).toHaveProperty("prompt_logprobs", null);
		expect(value({ ...output, ...{ prompt_logprobs: [1] } }, QWEN)).toHaveProperty("prompt_logprobs", [1]);
	});

	it("keeps a JSON mode document as text", () => {
		const sent = { messages, response_format: { type: "json_object" } };
		expect(value(completion({ content: "no JSON" }), KIMI, sent)).toMatchObject({
			choices: [{ message: { content: "no JSON" } }],
		});
	});
});

describe("an answer to a prompt of models with legacy inputs", () => {
	it("is a text completion", () => {
		expect(value(completion({ content: "Hi", reasoning: "Hm" }), QWEN, { prompt: "Hello" })).toStrictEqual({
			id: "cmpl-00000000000040008000000000000001",
			object: "text_completion",
			created: 1_776_784_300,
			model: QWEN.id,
			choices: [{ index: 0, text: "<think>\nHm\n</think>\n\nHi", finish_reason: "stop", logprobs: null }],
			usage: USAGE,
		});
		expect(
			value(completion({ content: "Hi" }, { id: "cmpl-7" }), QWEN, { prompt: "Hello", raw: true }),
		).toMatchObject({
			id: "cmpl-7",
			object: "text_completion",
			choices: [{ text: "Hi" }],
		});
	});

	it("is a chat completion for every other model", () => {
		expect(value(completion({ content: "Hi" }), KIMI, { prompt: "Hello" })).toMatchObject({
			object: "chat.completion",
		});
	});
});

const sent = { messages: [{ role: "user", content: "Hello" }] };
const withUsage = { ...sent, stream_options: { include_usage: true } };
const native = (text: string) => writtenEvents(KIMI, sent, split(text));
const route = (text: string, request: object = sent) => writtenEvents(KIMI, request, split(text), openaiChat);
const withModelName = (text: string) => text.replaceAll("engine-model", KIMI.id);
const USAGE_FRAME = frame({ response: "", usage: USAGE });
const body = delta({ role: "assistant", content: "" }) + delta({ content: "Hé" }) + finish();

describe("chunks on a model's own route", () => {
	it("are the engine's, followed by the native usage event", async () => {
		expect(await native(hubText({ content: "Hé" }))).toBe(
			withModelName(body + usageChunk()) + USAGE_FRAME + DONE,
		);
	});

	it("stay unchanged if nothing must be rewritten", async () => {
		const odd = `data: {"choices":[{"delta":{"content":"\\u00e9","n":1.50},"index":0}],"id":"a","created":1, "model":"${KIMI.id}","object":"chat.completion.chunk"}\n\n`;
		expect(await native(odd + DONE)).toBe(odd + DONE);
	});

	it("get the catalogue's model name and keep all other text", async () => {
		const odd = (name: string) =>
			`data: {"id":"a \\"model\\":\\"b\\"","created":1, "object":"chat.completion.chunk",${name}, "choices":[{"delta":{"content":"the \\"model\\":\\"x\\" key","n":1.50},"index":0}]}\n\n`;
		const sent = odd('"model" : "an \\"odd\\" $& name"');
		expect(await native(sent + sent + DONE)).toBe(odd(`"model":"${KIMI.id}"`).repeat(2) + DONE);
	});

	it("have only the top-level model name replaced, at any position", async () => {
		const common = { id: "a", object: "chat.completion.chunk", created: 1 };
		const choices = [{ index: 0, delta: { content: "Hi" } }];
		const chunks = (name: string) => [
			{ ...common, model: name, choices },
			{ ...common, served: { model: "x" }, model: name, choices },
			{ ...common, choices: [{ index: 0, delta: { content: "Hi", by: { model: "x" } } }], model: name },
			{ choices, ...common, created: 2, model: name },
			{ ...common, created: 2, model: name, choices },
		];
		for (const [at] of chunks("").entries()) {
			const turned = (name: string) => [...chunks(name).slice(at), ...chunks(name)].map(frame).join("");
			expect(await native(turned("engine-model") + DONE)).toBe(turned(KIMI.id) + DONE);
		}
	});

	it("are parsed one by one if the choices come before the name", async () => {
		const contents = ["a", "a", "a ", "b", "a"];
		const chunks = (name: string) =>
			contents
				.map((content) =>
					frame({
						choices: [{ index: 0, delta: { content }, finish_reason: null }],
						id: "a",
						object: "chat.completion.chunk",
						created: 1,
						model: name,
					}),
				)
				.join("");
		expect(await native(chunks("engine-model") + DONE)).toBe(chunks(KIMI.id) + DONE);
		const counted = chunks("engine-model").replace(/\}\n\n$/, `,"usage":${JSON.stringify(USAGE)}}\n\n`);
		const [, last] = (await route(counted + DONE, withUsage)).split("\n\n").slice(-4, -2);
		expect(JSON.parse(last?.slice("data: ".length) ?? "")).toMatchObject({ choices: [], usage: USAGE });
	});

	it("have the name of an ad hoc model with special characters", async () => {
		const model = adHocModel('a$&"b');
		expect(await writtenEvents(model, sent, split(delta({ content: "a" }) + DONE))).toBe(
			delta({ content: "a" }).replace('"engine-model"', () => JSON.stringify(model.id)) + DONE,
		);
	});

	it("are on one line each", async () => {
		const complete = `{"choices":[],"id":"a","created":1, "object":"chat.completion.chunk","model":"${KIMI.id}"}`;
		const lines = `data: ${complete.replace(" ", "\ndata: ")}\n\n`;
		expect(await native(lines + DONE)).toBe(`data: ${complete}\n\n${DONE}`);
	});

	it("get required fields that the engine omits", async () => {
		const bare = frame({ choices: [{ index: 0, delta: { content: "Hi" } }] });
		const complete = {
			id: `id-${NOW}`,
			object: "chat.completion.chunk",
			created: Math.floor(NOW / 1000),
			model: KIMI.id,
			choices: [{ index: 0, delta: { content: "Hi" } }],
		};
		expect(await native(bare + bare + DONE)).toBe(frame(complete) + frame(complete) + DONE);
	});

	it("are converted to OpenAI's form, also late in the stream", async () => {
		const choice = { index: 0, delta: { content: "Hi" }, finish_reason: null };
		const odd = frame({ id: null, object: "chunk", created: null, model: null, choices: [choice] });
		const common = {
			id: `id-${NOW}`,
			object: "chat.completion.chunk",
			created: Math.floor(NOW / 1000),
			model: KIMI.id,
		};
		expect(await native(odd + DONE)).toBe(frame({ ...common, choices: [choice] }) + DONE);
		const calls = (args: unknown) => delta({ tool_calls: [{ index: 0, function: { arguments: args } }] });
		const late =
			delta({ content: "Hi" }) +
			calls({ a: 1 }) +
			delta({ content: "Ho" }).replace('"index":0', '"index":null');
		expect(await native(late + DONE)).toBe(
			withModelName(delta({ content: "Hi" }) + calls('{"a":1}') + delta({ content: "Ho" })) + DONE,
		);
	});

	it("end with the counts of earlier chunks if the last has zeros", async () => {
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const text = delta({ content: "a" }, { usage: USAGE }) + finish() + usageChunk(zeros) + DONE;
		expect(await native(text)).toBe(withModelName(text).replace(DONE, USAGE_FRAME + DONE));
	});

	it("keep reasoning, tool calls and several choices", async () => {
		const text =
			delta({ reasoning: "Hm", reasoning_content: "Hm" }) +
			delta({
				tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }],
			}) +
			chunk([{ index: 1, delta: { content: "b" }, logprobs: { content: [] } }]) +
			finish("tool_calls") +
			DONE;
		expect(await native(text)).toBe(withModelName(text));
	});

	it("are written for a complete reply", async () => {
		const complete = completion({ content: "Hi" }, { model: KIMI.id });
		expect(await writtenEvents(KIMI, sent, complete)).toBe(
			withModelName(
				delta({ role: "assistant", content: "" }) + delta({ content: "Hi" }) + finish() + usageChunk(),
			) +
				USAGE_FRAME +
				DONE,
		);
	});
});

describe("chunks on the OpenAI route", () => {
	it("have no usage unless requested", async () => {
		expect(await route(hubText({ content: "Hé" }))).toBe(withModelName(body) + DONE);
		expect(await route(body + usageChunk() + DONE, withUsage)).toBe(
			withModelName(body + usageChunk()) + DONE,
		);
		const request = { ...sent, stream_options: { include_usage: false } };
		expect(await route(body + usageChunk() + DONE, request)).toBe(withModelName(body) + DONE);
	});

	it("lose counts beside text unless requested, and a usage of null always", async () => {
		const counted = delta({ content: "a" }, { usage: USAGE }) + delta({ content: "b" }, { usage: null });
		const plain = delta({ content: "a" }) + delta({ content: "b" });
		expect(await route(counted + DONE)).toBe(withModelName(plain) + DONE);
		// Also in a chunk that needs no other change.
		const named = withModelName(delta({ content: "b" }, { usage: null }));
		expect(await route(named + usageChunk() + DONE, withUsage)).not.toContain('"usage":null');
		expect(await route(counted + DONE, withUsage)).toBe(
			withModelName(delta({ content: "a" }, { usage: USAGE }) + delta({ content: "b" })) +
				withModelName(
					delta({ content: "a" }, { usage: USAGE }).replace(
						/"choices":\[.*?\],"usage"/,
						'"choices":[],"usage"',
					),
				) +
				DONE,
		);
	});

	it("have the totals once if zeros follow them", async () => {
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const text = delta({ content: "a" }, { usage: USAGE }) + usageChunk(zeros) + DONE;
		const written = await route(text, withUsage);
		expect(written).not.toContain('"total_tokens":0');
		expect(written.match(/"choices":\[\]/g)).toHaveLength(1);
		expect(written).toMatch(
			/"choices":\[\],"usage":\{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60\}\}\n\ndata: \[DONE\]\n\n$/,
		);
	});

	it("have a calculated total, which zeros do not replace", async () => {
		const { total_tokens: _, ...counts } = USAGE;
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const text = body + chunk([], { usage: counts }) + usageChunk(zeros) + DONE;
		expect(await route(text, withUsage)).toBe(withModelName(body + usageChunk()) + DONE);
		expect(await native(text)).toBe(
			withModelName(body + usageChunk() + usageChunk(zeros)) + USAGE_FRAME + DONE,
		);
	});

	it("never have a native event", async () => {
		expect(await route(hubText({ content: "a" }), withUsage)).not.toContain('"response"');
	});
});

describe("a stream of text completions", () => {
	it("has the texts, then the native usage event", async () => {
		const first = {
			id: "cmpl-00000000000040008000000000000001",
			object: "text_completion",
			created: 1_776_784_300,
			model: QWEN.id,
		};
		const textFrame = (text: string, finish_reason: string | null = null) =>
			frame({ ...first, choices: [{ index: 0, text, finish_reason, logprobs: null }] });
		expect(
			await writtenEvents(QWEN, { prompt: "Hello" }, split(hubText({ reasoning: "Hm" }, { content: "Hé" }))),
		).toBe(
			textFrame("<think>\nHm") + textFrame("\n</think>\n\nHé") + textFrame("", "stop") + USAGE_FRAME + DONE,
		);
	});
});
