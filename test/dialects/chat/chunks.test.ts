import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
	completionToChunks,
	firstChoice,
	parseChunk,
	reasoningOf,
	toolCallFragments,
} from "../../../src/dialects/chat/chunks.ts";
import type { ToolCall } from "../../../src/tasks/text-generation/types.ts";
import { codePoint } from "../../code-point.ts";
import { completion, delta, hubText, toolCall } from "./chat.ts";

const newIds = () => {
	let ids = 0;
	return () => `new-${++ids}`;
};

/** The first choice of a stream as one reply. */
function gather(events: string) {
	const reply = { text: "", reasoning: "", refusal: "", toolCalls: [] as ToolCall[], finish_reason: "" };
	const fragmentOf = toolCallFragments(newIds());
	for (const [, data] of events.matchAll(/^data: (.*)$/gm)) {
		const parsed = parseChunk(data ?? "");
		const choice = parsed === "done" ? undefined : firstChoice(parsed);
		if (!choice) continue;
		const { delta, finish_reason } = choice;
		reply.text += delta.content ?? "";
		reply.reasoning += reasoningOf(delta);
		reply.refusal += delta.refusal ?? "";
		reply.finish_reason = finish_reason ?? "";
		for (const fragment of (delta.tool_calls ?? []).map(fragmentOf)) {
			if (fragment.start)
				reply.toolCalls[fragment.index] = toolCall(fragment.start.name, "", fragment.start.id);
			const call = reply.toolCalls[fragment.index];
			if (call) call.function.arguments += fragment.arguments;
		}
	}
	return reply;
}

describe("parseChunk", () => {
	it("recognizes the end of the stream", () => {
		expect(parseChunk("[DONE]")).toBe("done");
		expect(parseChunk("[DONE] ")).toBe("done");
	});

	it("adds omitted fields and keeps additional ones", () => {
		expect(parseChunk('{"choices":[{"finish_reason":"stop"}],"timings":{"a":1}}')).toEqual({
			id: "",
			object: "chat.completion.chunk",
			created: 0,
			model: "",
			choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
			timings: { a: 1 },
		});
	});

	it("reads the usage of a chunk without choices, whatever the form of its counts", () => {
		const chunk = {
			...{ usage: { total_tokens: "9", prompt_tokens: 4 }, model: "m", timings: { a: 1 } },
			...{ choices: [], created: 1, object: "chat.completion.chunk", id: "c" },
		};
		expect(JSON.stringify(parseChunk("", chunk))).toBe(
			'{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"total_tokens":9,"prompt_tokens":4,"completion_tokens":5},"timings":{"a":1}}',
		);
		expect(parseChunk("", { ...chunk, usage: {} })).toMatchObject({ choices: [], usage: null });
	});

	it("accepts null for absent fields, and JSON values as arguments", () => {
		const call = { index: null, id: null, function: { name: "f", arguments: { a: 1 } } };
		const sent = {
			id: null,
			object: null,
			created: null,
			model: null,
			choices: [
				{ index: null, delta: { content: null, tool_calls: [call] }, finish_reason: null },
				{ index: 1, delta: null },
			],
			usage: { prompt_tokens: 30, completion_tokens: null, total_tokens: null },
		};
		expect(parseChunk(JSON.stringify(sent))).toEqual({
			id: "",
			object: "chat.completion.chunk",
			created: 0,
			model: "",
			choices: [
				{
					index: 0,
					delta: {
						content: null,
						tool_calls: [{ index: 0, id: null, function: { name: "f", arguments: '{"a":1}' } }],
					},
					finish_reason: null,
				},
				{ index: 1, delta: {} },
			],
			usage: { prompt_tokens: 30, completion_tokens: 0, total_tokens: 30 },
		});
		expect(parseChunk('{"choices":[],"usage":{}}')).toMatchObject({ usage: null });
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

describe("toolCallFragments", () => {
	it("separates calls if the engine reuses an index, repeats a name or omits an id", () => {
		const call = (index: number, id: string | undefined, name: string, args: string) =>
			delta({ tool_calls: [{ index, id, function: { name, arguments: args } }] });
		const events = [
			call(0, "a", "f", ""),
			call(0, "a", "f", '{"x"'),
			call(1, undefined, "g", "{}"),
			call(0, "", "", ":1}"),
			call(1, "b", "h", "[]"),
		];
		expect(gather(events.join("")).toolCalls).toEqual([
			toolCall("f", '{"x":1}', "a"),
			toolCall("g", "{}", "new-1"),
			toolCall("h", "[]", "b"),
		]);
	});
});

describe("completionToChunks", () => {
	const events = (...args: Parameters<typeof completionToChunks>) =>
		new Response(completionToChunks(...args)).text();

	it("writes the stream of a completion", async () => {
		expect(await events(completion({ content: "Hé" }))).toBe(hubText({ content: "Hé" }));
	});

	it("writes all content of a completion", async () => {
		const text = fc.string({ unit: codePoint });
		const calls = fc.array(fc.record({ id: fc.uuid(), name: fc.string({ minLength: 1 }), args: text }), {
			maxLength: 3,
		});
		await fc.assert(
			fc.asyncProperty(text, text, text, calls, async (content, reasoning, refusal, generated) => {
				const tool_calls: ToolCall[] = generated.map(({ id, name, args }) => toolCall(name, args, id));
				const stream = await events(completion({ content, reasoning, refusal, tool_calls }));
				expect(gather(stream)).toEqual({
					text: content,
					reasoning,
					refusal,
					toolCalls: tool_calls,
					finish_reason: "stop",
				});
			}),
		);
	});

	it("writes every choice, and no usage without counts", async () => {
		const [first] = completion({ content: "a" }).choices;
		if (!first) throw new Error("no choice");
		const second = { ...first, index: 1, finish_reason: "length", logprobs: { content: [] } };
		const stream = await events(completion({}, { choices: [first, second], usage: null }));
		expect(stream).toContain(
			'{"index":1,"delta":{"content":"a"},"finish_reason":null,"logprobs":{"content":[]}}',
		);
		expect(stream).toContain('{"index":1,"delta":{},"finish_reason":"length"}');
		expect(stream).not.toContain("usage");
	});
});
