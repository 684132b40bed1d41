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
import { completion, delta, hubText, toolCall } from "./chat.ts";

const newIds = () => {
	let ids = 0;
	return () => `new-${++ids}`;
};

/** What the first choice of a stream says, put together. */
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
	it("knows the end", () => {
		expect(parseChunk("[DONE]")).toBe("done");
		expect(parseChunk("[DONE] ")).toBe("done");
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

	it("takes null for what is not there, and values for the JSON text of arguments", () => {
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
	it("tells calls apart that the engine counts, names again or does not name", () => {
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

	it("is the stream that would have given the completion", async () => {
		expect(await events(completion({ content: "Hé" }))).toBe(hubText({ content: "Hé" }));
	});

	it("says what it was made of", async () => {
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
