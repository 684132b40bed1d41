import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { anthropicMessages } from "../../../src/dialects/messages/messages.ts";
import { Message } from "../../../src/dialects/messages/reply.ts";
import type { ChatCompletion } from "../../../src/tasks/text-generation/types.ts";
import { answered, completion, jsonOf } from "../responses/fixtures.ts";
import { contextOf } from "./fixtures.ts";

function written(output: ChatCompletion, fields: object = {}): unknown {
	const value = jsonOf(anthropicMessages.writer.write(answered(output), contextOf(fields)));
	expect(Message.parse(value)).toEqual(value);
	return value;
}

const THINKS = { thinking: { type: "adaptive" } };
const call = (id: string, args: string) => ({
	id,
	type: "function" as const,
	function: { name: "look", arguments: args },
});

describe("a completion", () => {
	it("is a message", () => {
		expect(written(completion({ content: "hello" }))).toEqual({
			id: "msg_01",
			type: "message",
			role: "assistant",
			model: "@cf/test/chat",
			content: [{ type: "text", text: "hello" }],
			stop_reason: "end_turn",
			stop_sequence: null,
			usage: {
				input_tokens: 2,
				cache_creation_input_tokens: 0,
				cache_read_input_tokens: 3,
				output_tokens: 2,
			},
		});
	});

	it("of Anthropic's own model keeps its id and its cache counts", () => {
		const usage = {
			prompt_tokens: 126,
			completion_tokens: 9,
			total_tokens: 135,
			prompt_tokens_details: { cached_tokens: 100, cache_creation_tokens: 5 },
		};
		expect(written({ ...completion({ content: "a" }), id: "msg_abc", usage })).toMatchObject({
			id: "msg_abc",
			usage: {
				input_tokens: 21,
				cache_creation_input_tokens: 5,
				cache_read_input_tokens: 100,
				output_tokens: 9,
			},
		});
	});

	it("has requested thinking, then the text, then the calls", () => {
		const output = completion(
			{
				content: "Looking.",
				reasoning_content: "Hm.",
				tool_calls: [call("a", '{"at":1}'), call("", ""), call("c", "[1]"), call("d", '{"cut')],
			},
			"tool_calls",
		);
		const calls = [
			{ type: "tool_use", id: "toolu_gw_YQ", name: "look", input: { at: 1 } },
			{ type: "tool_use", id: "toolu_02", name: "look", input: {} },
			{ type: "tool_use", id: "toolu_gw_Yw", name: "look", input: { INVALID_JSON: "[1]" } },
			{ type: "tool_use", id: "toolu_gw_ZA", name: "look", input: { INVALID_JSON: '{"cut' } },
		];
		const textBlock = { type: "text", text: "Looking." };
		expect(written(output, THINKS)).toMatchObject({
			content: [{ type: "thinking", thinking: "Hm.", signature: "" }, textBlock, ...calls],
			stop_reason: "tool_use",
		});
		for (const fields of [
			{},
			{ thinking: { type: "disabled" } },
			{ thinking: { type: "adaptive", display: "omitted" } },
		])
			expect(written(output, fields)).toMatchObject({ content: [textBlock, ...calls] });
	});

	it("has signed thinking unchanged, if thinking was requested", () => {
		const thinking_blocks = [
			{ type: "thinking", thinking: "Hm.", signature: "sig" },
			{ type: "redacted_thinking", data: "x" },
		] as const;
		const output = completion({
			content: "a",
			reasoning_content: "Hm.",
			thinking_blocks: [...thinking_blocks],
		});
		const textBlock = { type: "text", text: "a" };
		for (const fields of [THINKS, { thinking: { type: "adaptive", display: "omitted" } }])
			expect(written(output, fields)).toMatchObject({ content: [...thinking_blocks, textBlock] });
		expect(written(output)).toMatchObject({ content: [textBlock] });
	});

	it("of Anthropic's own stays unchanged, with the requested model name", () => {
		const content = [
			{ type: "server_tool_use", id: "s", name: "web_search", input: { query: "a" } },
			{ type: "text", text: "a", citations: [{ type: "web_search_result_location" }] },
		];
		const verbatim = {
			id: "msg_x",
			type: "message",
			role: "assistant",
			model: "claude",
			content,
			stop_reason: "pause_turn",
			stop_sequence: null,
			container: { id: "c" },
			usage: { input_tokens: 1, output_tokens: 1, server_tool_use: { web_search_requests: 1 } },
		};
		const output = { ...completion({ content: "a", verbatim }), id: "msg_x" };
		const value = jsonOf(anthropicMessages.writer.write(answered(output), contextOf()));
		expect(value).toEqual({
			...verbatim,
			model: "@cf/test/chat",
			usage: {
				input_tokens: 2,
				cache_creation_input_tokens: 0,
				cache_read_input_tokens: 3,
				output_tokens: 2,
				server_tool_use: { web_search_requests: 1 },
			},
		});
	});

	it.each([
		["stop", "end_turn"],
		["length", "max_tokens"],
		["content_filter", "refusal"],
		["anything", "end_turn"],
	])("that ended with %s has the stop reason %s", (finish, stop_reason) => {
		expect(written(completion({ content: "a" }, finish))).toMatchObject({ stop_reason });
	});

	it("has the stop sequence that the engine reports", () => {
		const output = completion({ content: "a" });
		const [choice] = output.choices;
		if (!choice) throw new Error("no choice");
		const stop_sequences = ["X", "END"];
		// vLLM's field and SGLang's field.
		for (const match of [{ stop_reason: "END" }, { matched_stop: "END" }])
			expect(written({ ...output, choices: [{ ...choice, ...match }] }, { stop_sequences })).toMatchObject({
				stop_reason: "stop_sequence",
				stop_sequence: "END",
			});
		// A token number, null, or the engine's own sequence.
		for (const stop_reason of [128_009, null, "<|im_end|>"])
			expect(written({ ...output, choices: [{ ...choice, stop_reason }] }, { stop_sequences })).toMatchObject(
				{
					stop_reason: "end_turn",
					stop_sequence: null,
				},
			);
	});

	it("with calls has the stop reason tool_use, for any finish reason of the engine", () => {
		expect(written(completion({ tool_calls: [call("a", "{}")] }, "stop"))).toMatchObject({
			stop_reason: "tool_use",
		});
		expect(written(completion({ tool_calls: [call("a", "{")] }, "length"))).toMatchObject({
			stop_reason: "max_tokens",
		});
	});

	it("with a refusal has its text, and an empty one has no blocks", () => {
		expect(written(completion({ refusal: "I can't." }))).toMatchObject({
			content: [{ type: "text", text: "I can't." }],
		});
		expect(written({ ...completion({}), usage: null })).toMatchObject({
			content: [],
			usage: { input_tokens: 0, output_tokens: 0 },
		});
	});

	it("has its cost", () => {
		const context = { ...contextOf(), withCost: (usage: object) => ({ ...usage, neurons: 1.5 }) as never };
		const value = jsonOf(anthropicMessages.writer.write(answered(completion({ content: "a" })), context));
		expect(value).toMatchObject({ usage: { neurons: 1.5 } });
	});

	it("with the finish reason error is a failure", () => {
		expect(() => written(completion({ content: "a" }, "error"))).toThrow(AiError);
	});
});
