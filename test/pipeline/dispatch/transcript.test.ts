import { describe, expect, it } from "vitest";
import { pieceReader, Transcript } from "../../../src/pipeline/dispatch/transcript.ts";

const reader = () => pieceReader(() => "new-id");
const transcript = () => new Transcript(() => "new-id");
const event = (delta: object, more: object = {}) =>
	JSON.stringify({ id: "chat-1", created: 5, choices: [{ index: 0, delta }], ...more });

describe("the pieces of a delta", () => {
	it("are its texts, in the order of the channels", () => {
		expect(reader()({ content: "b", refusal: "c", reasoning: "a" })).toEqual([
			{ channel: "reasoning", field: "reasoning", text: "a" },
			{ channel: "content", field: "content", text: "b" },
			{ channel: "refusal", field: "refusal", text: "c" },
		]);
	});

	it("have the reasoning once where it has two names", () => {
		expect(reader()({ reasoning_content: "a", reasoning: "a" })).toEqual([
			{ channel: "reasoning", field: "reasoning_content", text: "a" },
		]);
	});

	it("are none where it has no text", () => {
		expect(reader()({ content: "" })).toEqual([]);
		expect(reader()({ content: null })).toEqual([]);
	});

	it("have the calls of tools, with the name and the id in the first piece only", () => {
		const read = reader();
		const call = (fields: object) => ({ tool_calls: [{ index: 0, ...fields }] });
		expect(read(call({ id: "c1", function: { name: "look", arguments: '{"a"' } }))).toEqual([
			{
				channel: "call 0 look",
				field: "tool_calls",
				text: '{"a"',
				call: { index: 0, start: { id: "c1", name: "look" } },
			},
		]);
		expect(read(call({ function: { arguments: ":1}" } }))).toEqual([
			{ channel: "call 0 look", field: "tool_calls", text: ":1}", call: { index: 0 } },
		]);
	});
});

describe("a transcript", () => {
	it("joins the texts of a channel that follow each other", () => {
		const answer = transcript();
		for (const delta of [{ reasoning: "a" }, { content: "b" }, { content: "c" }, { reasoning: "d" }])
			answer.addEvent(event(delta));
		expect(answer.segments).toEqual([
			{ channel: "reasoning", text: "a" },
			{ channel: "content", text: "bc" },
			{ channel: "reasoning", text: "d" },
		]);
		expect(answer.text("reasoning")).toBe("ad");
		expect(answer.text("content")).toBe("bc");
		expect(answer.text("refusal")).toBe("");
	});

	it("keeps the name of its first chunk", () => {
		const answer = transcript();
		answer.addEvent(event({ content: "a" }));
		answer.addEvent(event({ content: "b" }, { id: "chat-2", created: 6 }));
		expect(answer.head).toEqual({ id: "chat-1", created: 5 });
	});

	it("has begun with the first delta of the first choice, and has no other choice", () => {
		const answer = transcript();
		expect(answer.hasRole).toBe(false);
		answer.addEvent(event({}, { choices: [{ index: 1, delta: { content: "other" } }] }));
		answer.addEvent("[DONE]");
		expect(answer.hasRole).toBe(false);
		answer.addEvent(event({ role: "assistant" }));
		expect(answer.hasRole).toBe(true);
		expect(answer.segments).toEqual([]);
	});

	it("knows calls by the numbers that the caller was sent", () => {
		const answer = transcript();
		const call = (index: number, name: string) =>
			event({ tool_calls: [{ index, id: name, function: { name, arguments: "{}" } }] });
		answer.addEvent(call(1, "first"));
		answer.addEvent(call(3, "second"));
		expect([0, 1, 2].map((number) => answer.indexOf(number))).toEqual([1, 3, 2]);
	});
});
