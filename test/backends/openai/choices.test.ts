import { describe, expect, it } from "vitest";
import { addChoice, countAllChoices, countsOneChoice } from "../../../src/backends/openai/choices.ts";
import type { ChatChoice, ChatCompletion } from "../../../src/tasks/text-generation/types.ts";

const usage = (completion_tokens: number, total_tokens = 3 + completion_tokens) => ({
	prompt_tokens: 3,
	completion_tokens,
	total_tokens,
});
const choice = (message: object, fields: object = {}) =>
	({
		index: 0,
		message: { role: "assistant", content: null, ...message },
		finish_reason: "stop",
		...fields,
	}) as ChatChoice;
const reply = (choices: ChatChoice[], fields: object): ChatCompletion => ({
	id: "c",
	object: "chat.completion",
	created: 1,
	model: "m",
	choices,
	...fields,
});
const TIMED = { timings: { predicted_n: 4 } };

describe("countsOneChoice", () => {
	it.each([
		["the count of the timings", TIMED, usage(4), true],
		["another count", TIMED, usage(5), false],
		["no usage", TIMED, undefined, false],
		["a usage that is null", TIMED, null, false],
		["no timings", {}, usage(0), false],
		["timings that are null", { timings: null }, usage(0), false],
		["timings that are a text", { timings: "fast" }, usage(0), false],
		["timings without a count", { timings: {} }, usage(0), false],
	])("with %s", (_, timed, counted, expected) => {
		expect(countsOneChoice(timed, counted)).toBe(expected);
	});
});

describe("countAllChoices", () => {
	const call = { id: "a", type: "function", function: { name: "look", arguments: '{"at":1}' } };

	it.each([
		["one choice", reply([choice({ content: "a" })], { ...TIMED, usage: usage(4, 9) })],
		["no choice", reply([], { ...TIMED, usage: usage(4, 9) })],
		["another engine", reply([choice({}), choice({})], { usage: usage(4, 9) })],
		["no usage", reply([choice({}), choice({})], TIMED)],
	])("keeps a reply of %s", (_, sent) => {
		expect(countAllChoices(sent, { messages: [], stream: false })).toBe(sent);
	});

	it.each<[string, ChatChoice, ChatChoice, number]>([
		["equal texts", choice({ content: "cat cat" }), choice({ content: "cat cat" }), 8],
		["equal reasoning", choice({ reasoning_content: "cat" }), choice({ reasoning_content: "cat" }), 8],
		["equal calls", choice({ tool_calls: [call] }), choice({ tool_calls: [call] }), 8],
		["nothing after a text", choice({ content: "cat" }), choice({ content: "" }), 4],
		["nothing before nothing", choice({}), choice({}), 4],
		["log probabilities", choice({}), choice({}, { logprobs: { content: [{}, {}] } }), 6],
		["log probabilities that are null", choice({}), choice({}, { logprobs: { content: null } }), 4],
		["log probabilities of another format", choice({}), choice({}, { logprobs: [] }), 4],
		[
			"log probabilities above the limit",
			choice({}),
			choice({}, { logprobs: { content: Array(30).fill({}) } }),
			14,
		],
		["a choice that reached the limit", choice({}), choice({}, { finish_reason: "length" }), 14],
	])("counts %s", (_, first, second, completion) => {
		const sent = reply([first, second], { ...TIMED, usage: usage(4) });
		const counted = countAllChoices(sent, { messages: [], stream: false, max_tokens: 10 });
		expect(counted.usage).toEqual(usage(completion));
	});
});

describe("addChoice", () => {
	it("adds the output, and counts the prompt once", () => {
		expect(addChoice(undefined, usage(2, 9))).toEqual(usage(2, 9));
		expect(addChoice(usage(4), usage(2))).toEqual(usage(6));
	});
});
