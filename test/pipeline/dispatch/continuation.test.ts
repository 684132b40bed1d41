import { describe, expect, it } from "vitest";
import { continuationRequests, isJoinable } from "../../../src/pipeline/dispatch/continuation.ts";
import { Transcript } from "../../../src/pipeline/dispatch/transcript.ts";
import type { Continuation } from "../../../src/pipeline/plan.ts";
import type { ChatDelta, ChatInput } from "../../../src/tasks/text-generation/types.ts";
import { target } from "./world.ts";

const INPUT: ChatInput = {
	messages: [{ role: "user", content: "Hi" }],
	stream: true,
	seed: 7,
	max_tokens: 60,
};

function questions(
	continues: Continuation | false | undefined,
	more: Partial<ChatInput>,
	...deltas: ChatDelta[]
) {
	const transcript = new Transcript(() => "id");
	for (const delta of deltas)
		transcript.add({
			id: "1",
			object: "chat.completion.chunk",
			created: 1,
			model: "m",
			choices: [{ index: 0, delta }],
		});
	return continuationRequests(
		target("b", continues !== undefined ? { continues } : {}),
		{ ...INPUT, ...more },
		transcript,
		40,
	);
}

describe("continuationRequests", () => {
	const again = { input: INPUT, expected: [{ channel: "content", text: "One two " }], continues: false };
	const received: ChatDelta = { content: "One two " };

	it("repeats the request for an engine that cannot continue", () => {
		expect(questions(undefined, {}, received)).toEqual([again]);
	});

	it("makes vLLM continue the message within the remaining limit, then repeats the request", () => {
		const messages = [...INPUT.messages, { role: "assistant", content: "One two " }];
		const passthrough = { continue_final_message: true, add_generation_prompt: false };
		expect(questions("vllm", {}, received)).toEqual([
			{ input: { ...INPUT, messages, passthrough, max_tokens: 20 }, expected: [], continues: true },
			again,
		]);
	});

	it("ends a prefill without white space, which the engine must send instead", () => {
		const messages = [...INPUT.messages, { role: "assistant", content: "One two" }];
		expect(questions("prefill", {}, received)[0]).toEqual({
			input: { ...INPUT, messages, max_tokens: 20 },
			expected: [{ channel: "content", text: " " }],
			continues: true,
		});
	});

	it("requests the same again if a prefill would be white space", () => {
		const repeated = { input: INPUT, expected: [{ channel: "content", text: " \n" }], continues: false };
		expect(questions("prefill", {}, { content: " \n" })).toEqual([repeated]);
		expect(questions("vllm", {}, { content: " \n" })).toHaveLength(2);
	});

	it("lengthens a raw prompt", () => {
		const raw = { messages: [], prompt: "Count: " };
		expect(questions("vllm", raw, received)[0]).toMatchObject({ expected: [], continues: true });
		expect(questions("vllm", raw, received)[0]?.input).toEqual({
			...INPUT,
			messages: [],
			prompt: "Count: One two ",
			max_tokens: 20,
		});
	});

	it("leaves room for one token at least", () => {
		expect(questions("vllm", { max_tokens: 30 }, received)[0]?.input.max_tokens).toBe(1);
	});

	it.each<[string, Partial<ChatInput>, ChatDelta[]]>([
		["thoughts", {}, [{ reasoning: "Hm" }, received]],
		["calls", {}, [received, { tool_calls: [{ index: 0, function: { name: "f", arguments: "{" } }] }]],
		["nothing said", {}, [{ role: "assistant", content: "" }]],
		["a grammar", { response_format: { type: "json_object" } }, [received]],
		["a text with an end", { messages: [], prompt: "a", suffix: "b" }, [received]],
	])("has no continuation of %s", (_, more, deltas) => {
		expect(questions("vllm", more, ...deltas).map(({ continues }) => continues)).toEqual([false]);
	});
});

describe("isJoinable", () => {
	it("is possible for one answer in text", () => {
		expect(isJoinable(INPUT)).toBe(true);
		expect(isJoinable({ ...INPUT, n: 1, logprobs: false })).toBe(true);
	});

	it.each<Partial<ChatInput>>([
		{ n: 2 },
		{ logprobs: true },
		{ passthrough: { modalities: ["text", "audio"] } },
	])("is false of %j", (more) => {
		expect(isJoinable({ ...INPUT, ...more })).toBe(false);
	});
});
