import { describe, expect, it } from "vitest";
import { openaiChat } from "../../../src/dialects/chat/openai-route.ts";
import { adHocModel } from "../../../src/models/catalog.ts";
import { DONE, frame } from "../../../src/streams/sse.ts";
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
	USAGE,
	usageChunk,
	writtenEvents,
} from "./chat.ts";

const sent = { messages: [{ role: "user", content: "Hello" }] };
const wantsUsage = { ...sent, stream_options: { include_usage: true } };
const native = (text: string) => writtenEvents(KIMI, sent, split(text));
const route = (text: string, asked: object = sent) => writtenEvents(KIMI, asked, split(text), openaiChat);
const named = (text: string) => text.replaceAll("engine-model", KIMI.id);
const USAGE_FRAME = frame({ response: "", usage: USAGE });
const body = delta({ role: "assistant", content: "" }) + delta({ content: "Hé" }) + finish();

describe("chunks on a model's own route", () => {
	it("are the engine's, with the native usage after them", async () => {
		expect(await native(hubText({ content: "Hé" }))).toBe(named(body + usageChunk()) + USAGE_FRAME + DONE);
	});

	it("are not touched where nothing must change", async () => {
		const odd = `data: {"choices":[{"delta":{"content":"\\u00e9","n":1.50},"index":0}],"id":"a","created":1, "model":"${KIMI.id}","object":"chat.completion.chunk"}\n\n`;
		expect(await native(odd + DONE)).toBe(odd + DONE);
	});

	it("keep all but the name where the engine's is another", async () => {
		const odd = (name: string) =>
			`data: {"id":"a \\"model\\":\\"b\\"","created":1, "object":"chat.completion.chunk",${name}, "choices":[{"delta":{"content":"the \\"model\\":\\"x\\" key","n":1.50},"index":0}]}\n\n`;
		const sent = odd('"model" : "an \\"odd\\" $& name"');
		expect(await native(sent + sent + DONE)).toBe(odd(`"model":"${KIMI.id}"`).repeat(2) + DONE);
	});

	it("have their own name changed, wherever it is, and not that of something inside them", async () => {
		const head = { id: "a", object: "chat.completion.chunk", created: 1 };
		const choices = [{ index: 0, delta: { content: "Hi" } }];
		const chunks = (name: string) => [
			{ ...head, model: name, choices },
			{ ...head, served: { model: "x" }, model: name, choices },
			{ ...head, choices: [{ index: 0, delta: { content: "Hi", by: { model: "x" } } }], model: name },
			{ choices, ...head, created: 2, model: name },
			{ ...head, created: 2, model: name, choices },
		];
		for (const [at] of chunks("").entries()) {
			const turned = (name: string) => [...chunks(name).slice(at), ...chunks(name)].map(frame).join("");
			expect(await native(turned("engine-model") + DONE)).toBe(turned(KIMI.id) + DONE);
		}
	});

	it("are read each for itself where the choices come before the name", async () => {
		const words = ["a", "a", "a ", "b", "a"];
		const chunks = (name: string) =>
			words
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
		const [, last] = (await route(counted + DONE, wantsUsage)).split("\n\n").slice(-4, -2);
		expect(JSON.parse(last?.slice("data: ".length) ?? "")).toMatchObject({ choices: [], usage: USAGE });
	});

	it("have the name of a model that only a route knows, whatever it is", async () => {
		const asked = adHocModel('a$&"b');
		expect(await writtenEvents(asked, sent, split(delta({ content: "a" }) + DONE))).toBe(
			delta({ content: "a" }).replace('"engine-model"', () => JSON.stringify(asked.id)) + DONE,
		);
	});

	it("are one line each", async () => {
		const whole = `{"choices":[],"id":"a","created":1, "object":"chat.completion.chunk","model":"${KIMI.id}"}`;
		const lines = `data: ${whole.replace(" ", "\ndata: ")}\n\n`;
		expect(await native(lines + DONE)).toBe(`data: ${whole}\n\n${DONE}`);
	});

	it("are completed where the engine leaves out what a chunk must have", async () => {
		const bare = frame({ choices: [{ index: 0, delta: { content: "Hi" } }] });
		const whole = {
			id: `id-${NOW}`,
			object: "chat.completion.chunk",
			created: Math.floor(NOW / 1000),
			model: KIMI.id,
			choices: [{ index: 0, delta: { content: "Hi" } }],
		};
		expect(await native(bare + bare + DONE)).toBe(frame(whole) + frame(whole) + DONE);
	});

	it("are as OpenAI has them where the engine says otherwise, in any of them", async () => {
		const choice = { index: 0, delta: { content: "Hi" }, finish_reason: null };
		const odd = frame({ id: null, object: "chunk", created: null, model: null, choices: [choice] });
		const head = {
			id: `id-${NOW}`,
			object: "chat.completion.chunk",
			created: Math.floor(NOW / 1000),
			model: KIMI.id,
		};
		expect(await native(odd + DONE)).toBe(frame({ ...head, choices: [choice] }) + DONE);
		const calls = (args: unknown) => delta({ tool_calls: [{ index: 0, function: { arguments: args } }] });
		const late =
			delta({ content: "Hi" }) +
			calls({ a: 1 }) +
			delta({ content: "Ho" }).replace('"index":0', '"index":null');
		expect(await native(late + DONE)).toBe(
			named(delta({ content: "Hi" }) + calls('{"a":1}') + delta({ content: "Ho" })) + DONE,
		);
	});

	it("end with the counts of the chunks where the last says zero", async () => {
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const text = delta({ content: "a" }, { usage: USAGE }) + finish() + usageChunk(zeros) + DONE;
		expect(await native(text)).toBe(named(text).replace(DONE, USAGE_FRAME + DONE));
	});

	it("have reasoning, tool calls and several choices as the engine gave them", async () => {
		const text =
			delta({ reasoning: "Hm", reasoning_content: "Hm" }) +
			delta({
				tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }],
			}) +
			chunk([{ index: 1, delta: { content: "b" }, logprobs: { content: [] } }]) +
			finish("tool_calls") +
			DONE;
		expect(await native(text)).toBe(named(text));
	});

	it("are made of a reply that came whole", async () => {
		const whole = completion({ content: "Hi" }, { model: KIMI.id });
		expect(await writtenEvents(KIMI, sent, whole)).toBe(
			named(delta({ role: "assistant", content: "" }) + delta({ content: "Hi" }) + finish() + usageChunk()) +
				USAGE_FRAME +
				DONE,
		);
	});
});

describe("chunks on the OpenAI route", () => {
	it("tell nothing of usage unless asked", async () => {
		expect(await route(hubText({ content: "Hé" }))).toBe(named(body) + DONE);
		expect(await route(body + usageChunk() + DONE, wantsUsage)).toBe(named(body + usageChunk()) + DONE);
		const asked = { ...sent, stream_options: { include_usage: false } };
		expect(await route(body + usageChunk() + DONE, asked)).toBe(named(body) + DONE);
	});

	it("lose counts of their own unless asked, and keep the word that there are none", async () => {
		const counted = delta({ content: "a" }, { usage: USAGE }) + delta({ content: "b" }, { usage: null });
		const plain = delta({ content: "a" }) + delta({ content: "b" }, { usage: null });
		expect(await route(counted + DONE)).toBe(named(plain) + DONE);
		expect(await route(counted + DONE, wantsUsage)).toBe(
			named(counted) +
				named(
					delta({ content: "a" }, { usage: USAGE }).replace(
						/"choices":\[.*?\],"usage"/,
						'"choices":[],"usage"',
					),
				) +
				DONE,
		);
	});

	it("tell the true totals once where zeros follow them", async () => {
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const text = delta({ content: "a" }, { usage: USAGE }) + usageChunk(zeros) + DONE;
		const written = await route(text, wantsUsage);
		expect(written).not.toContain('"total_tokens":0');
		expect(written.match(/"choices":\[\]/g)).toHaveLength(1);
		expect(written).toMatch(
			/"choices":\[\],"usage":\{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60\}\}\n\ndata: \[DONE\]\n\n$/,
		);
	});

	it("tell the total of counts that lack it, which zeros do not replace", async () => {
		const { total_tokens: _, ...counts } = USAGE;
		const zeros = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
		const text = body + chunk([], { usage: counts }) + usageChunk(zeros) + DONE;
		expect(await route(text, wantsUsage)).toBe(named(body + usageChunk()) + DONE);
		expect(await native(text)).toBe(named(body + usageChunk() + usageChunk(zeros)) + USAGE_FRAME + DONE);
	});

	it("never has a native frame", async () => {
		expect(await route(hubText({ content: "a" }), wantsUsage)).not.toContain('"response"');
	});
});

describe("a stream of text completions", () => {
	it("has the texts, then the native usage", async () => {
		const first = {
			id: "cmpl-00000000000040008000000000000001",
			object: "text_completion",
			created: 1_776_784_300,
			model: QWEN.id,
		};
		const said = (text: string, finish_reason: string | null = null) =>
			frame({ ...first, choices: [{ index: 0, text, finish_reason, logprobs: null }] });
		expect(
			await writtenEvents(QWEN, { prompt: "Hello" }, split(hubText({ reasoning: "Hm" }, { content: "Hé" }))),
		).toBe(said("<think>\nHm") + said("\n</think>\n\nHé") + said("", "stop") + USAGE_FRAME + DONE);
	});
});
