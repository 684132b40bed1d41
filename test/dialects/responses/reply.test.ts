import type OpenAI from "openai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { AiError } from "../../../src/core/errors.ts";
import { responsesError } from "../../../src/dialects/responses/errors.ts";
import { ResponseObject } from "../../../src/dialects/responses/reply.ts";
import { responses } from "../../../src/dialects/responses/responses.ts";
import { answered, completion, contextOf, jsonOf, USAGE } from "./fixtures.ts";

const write = (message: Parameters<typeof completion>[0], finish = "stop", body: object = { input: "hi" }) =>
	jsonOf(responses.writer.write(answered(completion(message, finish)), contextOf(body))) as ResponseObject;

const call = (id: string, name: string, args: string) => ({
	id,
	type: "function" as const,
	function: { name, arguments: args },
});
const content = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });

describe("a response", () => {
	it("has the caller's names of namespaced and custom tools", () => {
		const body = {
			input: "hi",
			tools: [
				{ type: "namespace", name: "files", tools: [{ type: "function", name: "get__size" }] },
				{ type: "custom", name: "patch" },
			],
		};
		const calls = [
			call("a", "files__get__size", '{"x":1}'),
			call("b", "patch", '{"input":"a\\nb"}'),
			call("c", "patch", "*** Begin"),
			call("d", "other__one", "{}"),
		];
		const { output } = write({ tool_calls: calls }, "tool_calls", body);
		const status = "completed";
		expect(output).toEqual([
			{
				id: expect.stringMatching(/^fc_/),
				type: "function_call",
				status,
				call_id: "a",
				namespace: "files",
				name: "get__size",
				arguments: '{"x":1}',
			},
			{
				id: expect.stringMatching(/^ctc_/),
				type: "custom_tool_call",
				status,
				call_id: "b",
				name: "patch",
				input: "a\nb",
			},
			expect.objectContaining({ type: "custom_tool_call", call_id: "c", input: "*** Begin" }),
			expect.objectContaining({ type: "function_call", call_id: "d", name: "other__one" }),
		]);
	});

	it("has these fields", () => {
		expect(write({ content: "Hello" })).toEqual({
			id: "id-1776784307643",
			object: "response",
			created_at: 1_776_784_307,
			status: "completed",
			background: false,
			error: null,
			incomplete_details: null,
			instructions: null,
			max_output_tokens: null,
			max_tool_calls: null,
			model: "@cf/test/chat",
			output: [
				{
					id: "msg_01",
					type: "message",
					status: "completed",
					role: "assistant",
					content: [content("Hello")],
				},
			],
			parallel_tool_calls: true,
			previous_response_id: null,
			prompt_cache_key: null,
			reasoning: { effort: null, summary: null },
			safety_identifier: null,
			service_tier: "default",
			store: false,
			temperature: 1,
			text: { format: { type: "text" } },
			tool_choice: "auto",
			tools: [],
			top_logprobs: 0,
			top_p: 1,
			truncation: "disabled",
			usage: USAGE,
			user: null,
			metadata: {},
		});
	});

	it("repeats the request's fields, except for fields without effect", () => {
		const tool = { type: "function", name: "look", parameters: { type: "object" }, strict: true };
		const format = { type: "json_schema", name: "a", schema: { type: "object" }, strict: true };
		const echoed = {
			instructions: "Be brief.",
			max_output_tokens: 100,
			max_tool_calls: 3,
			temperature: 0.5,
			top_p: 0.9,
			top_logprobs: 2,
			parallel_tool_calls: false,
			prompt_cache_key: "k1",
			safety_identifier: "s1",
			reasoning: { effort: "xhigh", summary: "auto" },
			text: { format, verbosity: "low" },
			tool_choice: { type: "function", name: "look" },
			tools: [tool],
			truncation: "auto",
			user: "u1",
			metadata: { a: "b" },
		};
		const body = { input: "hi", ...echoed, store: true, service_tier: "flex" };
		const response = write({ content: "{}" }, "stop", body);
		expect(response).toMatchObject({ ...echoed, store: false, service_tier: "default" });
	});

	it("has reasoning, text and calls as items, in this order", () => {
		const response = write(
			{
				reasoning: "Hm.",
				content: "Looking.",
				tool_calls: [call("call_a", "look", '{"at":1}'), call("", "nod", "{}")],
			},
			"tool_calls",
		);
		const done = { type: "function_call", status: "completed" };
		expect(response.status).toBe("completed");
		expect(response.output).toEqual([
			{
				id: "rs_01",
				type: "reasoning",
				status: "completed",
				summary: [],
				content: [{ type: "reasoning_text", text: "Hm." }],
			},
			{
				id: "msg_02",
				type: "message",
				status: "completed",
				role: "assistant",
				content: [content("Looking.")],
			},
			{ ...done, id: "fc_03", call_id: "call_a", name: "look", arguments: '{"at":1}' },
			{ ...done, id: "fc_05", call_id: "call_04", name: "nod", arguments: "{}" },
		]);
	});

	it("has no message item for calls without text", () => {
		const { output } = write({ tool_calls: [call("call_a", "look", "{}")] }, "tool_calls");
		expect(output.map(({ type }) => type)).toEqual(["function_call"]);
	});

	it("has a refusal as a part", () => {
		expect(write({ refusal: "No." }).output).toMatchObject([
			{ type: "message", content: [{ type: "refusal", refusal: "No." }] },
		]);
	});

	it.each([
		["length", "max_output_tokens"],
		["content_filter", "content_filter"],
	])("is incomplete for the finish reason %s, as is its last item", (finish, reason) => {
		expect(write({ reasoning_content: "Hm.", content: "Yes, b" }, finish)).toMatchObject({
			status: "incomplete",
			incomplete_details: { reason },
			output: [
				{ type: "reasoning", status: "completed" },
				{ type: "message", status: "incomplete" },
			],
		});
		expect(write({ reasoning_content: "Hm" }, finish).output).toMatchObject([
			{ type: "reasoning", status: "incomplete" },
		]);
	});

	it("has failed for the finish reason error", () => {
		expect(write({ content: "Yes, b" }, "error")).toMatchObject({
			status: "failed",
			error: { code: "server_error", message: "The model could not finish its answer" },
			output: [{ status: "incomplete" }],
			usage: USAGE,
		});
	});

	it("has no usage if the engine has no counts", () => {
		const output = { ...completion({ content: "Hello" }), usage: null };
		const rendered = responses.writer.write(answered(output), contextOf({ input: "hi" }));
		expect(jsonOf(rendered)).toMatchObject({ usage: null });
	});

	it("matches its schema and OpenAI's own type", () => {
		const response = write({ reasoning: "Hm.", content: "Hi", tool_calls: [call("a", "look", "{}")] });
		expect(ResponseObject.parse(response)).toEqual(response);
		expect(z.toJSONSchema(ResponseObject, { unrepresentable: "any" })).toMatchObject({ type: "object" });
		// Fields that the SDK adds, or that belong to OpenAI's account features.
		type SdkFields = Pick<
			OpenAI.Responses.Response,
			"id" | "object" | "created_at" | "status" | "incomplete_details" | "instructions" | "output"
		>;
		response satisfies SdkFields;
		response.text satisfies OpenAI.Responses.ResponseTextConfig | { verbosity?: string };
	});
});

describe("responsesError", () => {
	it.each([
		["badInput", "invalid_prompt"],
		["noSuchModel", "invalid_prompt"],
		["contextWindowExceeded", "context_length_exceeded"],
		["budgetExceeded", "insufficient_quota"],
		["rateLimited", "rate_limit_exceeded"],
		["outOfCapacity", "rate_limit_exceeded"],
		["modelTimeout", "server_error"],
		["executionFailed", "server_error"],
		["upstreamUnavailable", "server_error"],
	] as const)("has a code for %s", (key, code) => {
		expect(responsesError(new AiError(key), "req-1").code).toBe(code);
	});

	it("has the message of the REST API", () => {
		expect(responsesError(new AiError("noSuchModel", "No such model x or task"), "req-1").message).toBe(
			"AiError: No such model: No such model x or task (req-1)",
		);
		// The product omits the request id for code 5006.
		expect(responsesError(new AiError("badInput", "Error: '/input' is not valid"), "req-1").message).toBe(
			"AiError: Bad input: Error: '/input' is not valid",
		);
	});
});
