import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { completionToChunks, gatherChunks, parseChunk } from "../../../src/dialects/chat/chunks.ts";
import type { ToolCall } from "../../../src/tasks/text-generation.ts";
import { chunk, completion, delta, finish, hubText, toolCall, USAGE, usageChunk } from "./chat.ts";

const newIds = () => {
	let ids = 0;
	return () => `new-${++ids}`;
};

function gather(events: string) {
	const gathered = gatherChunks(newIds());
	for (const [, data] of events.matchAll(/^data: (.*)$/gm)) {
		const parsed = parseChunk(data ?? "");
		if (parsed !== "done") gathered.add(parsed);
	}
	return gathered.reply;
}

describe("parseChunk", () => {
	it("knows the end", () => {
		expect(parseChunk("[DONE]")).toBe("done");
	});

	it("fills what an engine left out and keeps what it added", () => {
		expect(parseChunk('{"choices":[{"finish_reason":"stop"}],"timings":{"a":1}}')).toEqual({
			id: "",
			object: "chat.completion.chunk",
			created: 0,
			model: "",
			choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
			timings: { a: 1 },
		});
	});

	it.each([
		"",
		"{",
		"null",
		"[]",
		"{}",
		'{"choices":{}}',
		'{"choices":[{"delta":{"content":5}}]}',
		'{"error":{"message":"x"}}',
	])("fails for %j", (data) => {
		expect(() => parseChunk(data)).toThrowError("5001: The engine sent a malformed chunk");
	});
});

describe("gatherChunks", () => {
	it("puts a reply together", () => {
		const events =
			delta({ role: "assistant", content: null }) +
			delta({ reasoning: "H", reasoning_content: "H" }) +
			delta({ reasoning: "m" }) +
			delta({ content: "Wa" }) +
			chunk([{ index: 1, delta: { content: "other" } }]) +
			delta({ content: "it" }) +
			delta({
				tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }],
			}) +
			delta({ tool_calls: [{ index: 0, function: { arguments: '{"x"' } }] }) +
			delta({ tool_calls: [{ index: 1, function: { name: "g", arguments: "{}" } }] }) +
			delta({ tool_calls: [{ index: 0, id: "", function: { name: "", arguments: ":1}" } }] }) +
			finish("tool_calls") +
			usageChunk();
		expect(gather(events)).toEqual({
			text: "Wait",
			reasoning: "Hm",
			refusal: "",
			toolCalls: [toolCall("f", '{"x":1}', "a"), toolCall("g", "{}", "new-1")],
			finish_reason: "tool_calls",
			usage: USAGE,
		});
	});

	it("does not say why an engine stopped before it did", () => {
		expect(gather(delta({ content: "a" }))).toEqual({ text: "a", reasoning: "", refusal: "", toolCalls: [] });
	});
});

describe("completionToChunks", () => {
	const events = (...args: Parameters<typeof completionToChunks>) =>
		new Response(completionToChunks(...args)).text();

	it("is the stream that would have given the completion", async () => {
		expect(await events(completion({ content: "Hé" }))).toBe(hubText({ content: "Hé" }));
	});

	it("gathers to what it was made of", async () => {
		const text = fc.string({ unit: "binary" });
		const calls = fc.array(fc.record({ id: fc.uuid(), name: fc.string({ minLength: 1 }), args: text }), {
			maxLength: 3,
		});
		await fc.assert(
			fc.asyncProperty(text, text, text, calls, async (content, reasoning, refusal, made) => {
				const tool_calls: ToolCall[] = made.map(({ id, name, args }) => toolCall(name, args, id));
				const said = await events(completion({ content, reasoning, refusal, tool_calls }));
				expect(gather(said)).toEqual({
					text: content,
					reasoning,
					refusal,
					toolCalls: tool_calls,
					finish_reason: "stop",
					usage: USAGE,
				});
			}),
		);
	});

	it("has every choice, and no usage that is not known", async () => {
		const [first] = completion({ content: "a" }).choices;
		if (!first) throw new Error("no choice");
		const second = { ...first, index: 1, finish_reason: "length", logprobs: { content: [] } };
		const said = await events(completion({}, { choices: [first, second], usage: null }));
		expect(said).toContain(
			'{"index":1,"delta":{"content":"a"},"finish_reason":null,"logprobs":{"content":[]}}',
		);
		expect(said).toContain('{"index":1,"delta":{},"finish_reason":"length"}');
		expect(said).not.toContain("usage");
	});
});
