import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { anthropicMessages } from "../../../src/dialects/messages/messages.ts";
import { Message } from "../../../src/dialects/messages/reply.ts";
import type { ChatCompletion } from "../../../src/tasks/text-generation/types.ts";
import { answered, completion, jsonOf } from "../responses/fixtures.ts";
import { contextOf } from "./fixtures.ts";

function written(output: ChatCompletion, more: object = {}): unknown {
	const value = jsonOf(anthropicMessages.writer.write(answered(output), contextOf(more)));
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

	it("of Anthropic's own model keeps its id and what its cache took", () => {
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

	it("has thoughts where they were asked for, then the text, then the calls", () => {
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
		const said = { type: "text", text: "Looking." };
		expect(written(output, THINKS)).toMatchObject({
			content: [{ type: "thinking", thinking: "Hm.", signature: "" }, said, ...calls],
			stop_reason: "tool_use",
		});
		for (const more of [
			{},
			{ thinking: { type: "disabled" } },
			{ thinking: { type: "adaptive", display: "omitted" } },
		])
			expect(written(output, more)).toMatchObject({ content: [said, ...calls] });
	});

	it("has the thoughts that were signed as they are, where thinking was asked for", () => {
		const thinking_blocks = [
			{ type: "thinking", thinking: "Hm.", signature: "sig" },
			{ type: "redacted_thinking", data: "x" },
		] as const;
		const output = completion({
			content: "a",
			reasoning_content: "Hm.",
			thinking_blocks: [...thinking_blocks],
		});
		const said = { type: "text", text: "a" };
		for (const more of [THINKS, { thinking: { type: "adaptive", display: "omitted" } }])
			expect(written(output, more)).toMatchObject({ content: [...thinking_blocks, said] });
		expect(written(output)).toMatchObject({ content: [said] });
	});

	it("of Anthropic's own is given as it came, under the name that was asked for", () => {
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
	])("that ended with %s stopReasonOf for %s", (finish, stop_reason) => {
		expect(written(completion({ content: "a" }, finish))).toMatchObject({ stop_reason });
	});

	it("that met a stop sequence tells which, where the engine does", () => {
		const output = completion({ content: "a" });
		const [choice] = output.choices;
		if (!choice) throw new Error("no choice");
		const stop_sequences = ["X", "END"];
		// vLLM's name for it, and SGLang's.
		for (const met of [{ stop_reason: "END" }, { matched_stop: "END" }])
			expect(written({ ...output, choices: [{ ...choice, ...met }] }, { stop_sequences })).toMatchObject({
				stop_reason: "stop_sequence",
				stop_sequence: "END",
			});
		// The number of a token, nothing, or a sequence of the engine's own.
		for (const stop_reason of [128_009, null, "<|im_end|>"])
			expect(written({ ...output, choices: [{ ...choice, stop_reason }] }, { stop_sequences })).toMatchObject(
				{
					stop_reason: "end_turn",
					stop_sequence: null,
				},
			);
	});

	it("that calls is a tool_use, whatever the engine names it", () => {
		expect(written(completion({ tool_calls: [call("a", "{}")] }, "stop"))).toMatchObject({
			stop_reason: "tool_use",
		});
		expect(written(completion({ tool_calls: [call("a", "{")] }, "length"))).toMatchObject({
			stop_reason: "max_tokens",
		});
	});

	it("that refuses says so, and one that says nothing has no blocks", () => {
		expect(written(completion({ refusal: "I can't." }))).toMatchObject({
			content: [{ type: "text", text: "I can't." }],
		});
		expect(written({ ...completion({}), usage: null })).toMatchObject({
			content: [],
			usage: { input_tokens: 0, output_tokens: 0 },
		});
	});

	it("tells its cost", () => {
		const context = { ...contextOf(), withCost: (usage: object) => ({ ...usage, neurons: 1.5 }) as never };
		const value = jsonOf(anthropicMessages.writer.write(answered(completion({ content: "a" })), context));
		expect(value).toMatchObject({ usage: { neurons: 1.5 } });
	});

	it("that its engine could not finish is a failure", () => {
		expect(() => written(completion({ content: "a" }, "error"))).toThrow(AiError);
	});
});
