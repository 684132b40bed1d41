import { expect, it } from "vitest";
import { pairResults } from "../../src/backends/tool-results.ts";
import type { ChatMessage } from "../../src/tasks/text-generation/types.ts";

const callsOf = (...ids: string[]): ChatMessage => ({
	role: "assistant",
	content: null,
	tool_calls: ids.map((id) => ({ id, type: "function", function: { name: "weather", arguments: "{}" } })),
});
const resultOf = (id: string, content: string): ChatMessage => ({ role: "tool", tool_call_id: id, content });
const NEXT: ChatMessage = { role: "user", content: "And tomorrow?" };

it("gives a result to the last call before it with its id", () => {
	const sent = [
		callsOf("a"),
		resultOf("a", "1"),
		callsOf("a", "b"),
		resultOf("a", "2"),
		NEXT,
		resultOf("b", "3"),
	];
	expect(pairResults(sent, "text")).toEqual([
		callsOf("a"),
		resultOf("a", "1"),
		callsOf("a", "b"),
		resultOf("a", "2"),
		resultOf("b", "3"),
		NEXT,
	]);
});

it("gives results without a call before them to the next calls with their id", () => {
	const sent = [resultOf("a", "1"), resultOf("a", "2"), callsOf("a"), NEXT, callsOf("a"), NEXT];
	expect(pairResults(sent, "text")).toEqual([
		callsOf("a"),
		resultOf("a", "1"),
		NEXT,
		callsOf("a"),
		resultOf("a", "2"),
		NEXT,
	]);
});

it("pairs the results of many calls that all follow the last one", () => {
	const ids = Array.from({ length: 60_000 }, (_, index) => `call_${index}`);
	const calls = ids.map((id) => callsOf(id));
	const paired = pairResults([...calls, ...ids.map((id) => resultOf(id, id)), NEXT], "text");
	expect(paired).toHaveLength(120_001);
	expect(paired.slice(0, 2)).toEqual([callsOf("call_0"), resultOf("call_0", "call_0")]);
	expect(paired.slice(-3)).toEqual([callsOf("call_59999"), resultOf("call_59999", "call_59999"), NEXT]);
});
