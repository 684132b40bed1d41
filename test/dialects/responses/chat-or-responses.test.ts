import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AiError } from "../../../src/core/errors.ts";
import type { WriteContext } from "../../../src/dialects/dialect.ts";
import { chatOrResponsesWriter, gptOssReader } from "../../../src/dialects/responses/chat-or-responses.ts";
import { validate } from "../../../src/dialects/validation/validation.ts";
import type { TaskAnswer } from "../../../src/tasks/task.ts";
import type { ChatInput } from "../../../src/tasks/text-generation/types.ts";
import {
	answered,
	completion,
	delta,
	eventsOf,
	GPT_OSS,
	hubText,
	jsonOf,
	NOW,
	parseEvents,
	streamed,
	streamOf,
	USAGE,
	USAGE_CHUNK,
} from "./fixtures.ts";

function contextOf(body: unknown): WriteContext & { input: ChatInput } {
	const inputs = validate(gptOssReader.schema(GPT_OSS), body);
	const call = gptOssReader.read(inputs as never, GPT_OSS);
	if (call.task !== "text-generation") throw new Error(`read as ${call.task}`);
	return {
		model: GPT_OSS,
		inputs,
		call,
		input: call.input,
		now: NOW,
		requestId: "req-1",
		uuid: () => "0-1",
		withCost: <T>(usage: T) => usage,
	};
}
/** Without the original request. */
const read = (body: unknown): Omit<ChatInput, "verbatim"> => {
	const { verbatim: _, ...input } = contextOf(body).input;
	return input;
};
const write = (answer: TaskAnswer, body: unknown) => chatOrResponsesWriter.write(answer, contextOf(body));

const HI = { role: "user", content: "hi" };
const TOOL = { type: "function", name: "look", parameters: { type: "object" }, strict: null };
const CHAT_TOOL = { type: "function", function: { name: "look", parameters: { type: "object" } } };

describe("reading", () => {
	it("reads a prompt and messages as chat, with the model's defaults", () => {
		const defaults = { stream: false, max_tokens: 256, temperature: 0.6 };
		expect(read({ prompt: "hi" })).toEqual({ messages: [HI], ...defaults });
		expect(read({ messages: [HI], max_tokens: 5 })).toEqual({ messages: [HI], ...defaults, max_tokens: 5 });
	});

	it("reads a Responses body without a default limit", () => {
		expect(read({ input: "hi", instructions: "Be brief.", reasoning: { effort: "low" } })).toEqual({
			messages: [{ role: "system", content: "Be brief." }, HI],
			stream: false,
			reasoning_effort: "low",
		});
		expect(read({ input: [HI], max_output_tokens: 5, temperature: 2 })).toEqual({
			messages: [HI],
			stream: false,
			max_tokens: 5,
			temperature: 2,
		});
	});

	it.each([
		[
			{},
			"Error: oneOf at '/' not met, 0 matches: required properties at '/' are 'prompt', required properties at '/' are 'messages', required properties at '/' are 'input'",
		],
		[{ messages: [HI], input: "hi" }, "oneOf at '/' not met, 2 matches"],
		[{ prompt: "hi", input: "hi" }, "oneOf at '/' not met, 2 matches"],
		[{ input: 1 }, "/input"],
		[{ input: "hi", temperature: 3 }, "'/temperature' must be <= 2"],
	])("refuses %j", (body, finding) => {
		let refusal: unknown;
		try {
			read(body);
		} catch (error) {
			refusal = error;
		}
		expect(refusal).toMatchObject({ code: 5006 });
		expect((refusal as AiError).description).toContain(finding);
	});
});

describe("writing a complete reply", () => {
	it("answers input with a response", () => {
		expect(
			jsonOf(write(answered(completion({ reasoning: "Hm.", content: "Hello" })), { input: "hi" })),
		).toMatchObject({
			id: "id-1776784307643",
			object: "response",
			model: "@cf/openai/gpt-oss-20b",
			status: "completed",
			output: [
				{ type: "reasoning", content: [{ type: "reasoning_text", text: "Hm." }] },
				{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] },
			],
			usage: USAGE,
		});
	});

	it.each([[{ messages: [HI] }], [{ prompt: "hi" }]])("answers %j with a chat completion", (body) => {
		expect(jsonOf(write(answered(completion({ content: "Hello" })), body))).toMatchObject({
			object: "chat.completion",
			model: "@cf/openai/gpt-oss-20b",
			choices: [{ message: { content: "Hello" }, finish_reason: "stop" }],
			usage: { total_tokens: 7 },
		});
	});

	it("repairs a forced call in the text, in both forms", () => {
		const answer = answered(completion({ content: '{"at":1}' }));
		const choice = { type: "function", name: "look" };
		expect(jsonOf(write(answer, { input: "hi", tools: [TOOL], tool_choice: choice }))).toMatchObject({
			status: "completed",
			output: [{ type: "function_call", call_id: "call_01", name: "look", arguments: '{"at":1}' }],
		});
		expect(
			jsonOf(
				write(answer, {
					messages: [HI],
					tools: [CHAT_TOOL],
					tool_choice: { type: "function", function: { name: "look" } },
				}),
			),
		).toMatchObject({
			choices: [{ finish_reason: "tool_calls", message: { tool_calls: [{ function: { name: "look" } }] } }],
		});
	});

	it("has a schema for both", () => {
		const { schema } = chatOrResponsesWriter;
		if (typeof schema === "string" || typeof schema === "function") throw new Error("it is not a schema");
		const answer = answered(completion({ content: "Hello" }));
		for (const body of [{ input: "hi" }, { messages: [HI] }])
			expect(schema.safeParse(jsonOf(write(answer, body))).error).toBeUndefined();
		const { anyOf } = z.toJSONSchema(schema, { unrepresentable: "any" });
		expect(anyOf).toHaveLength(2);
		expect(
			z.toJSONSchema(gptOssReader.schema(GPT_OSS), { io: "input", unrepresentable: "any" }),
		).toMatchObject({
			oneOf: [{ required: ["prompt"] }, { required: ["messages"] }, { required: ["input"] }],
		});
	});
});

describe("writing a stream", () => {
	const CHUNKS = [delta({ role: "assistant", content: "Hello" }), delta({}, "stop"), USAGE_CHUNK];
	const source = () => streamed(streamOf([hubText(CHUNKS)]));
	const text = (answer: TaskAnswer, body: unknown) => new Response(eventsOf(write(answer, body))).text();

	it("answers input with events", async () => {
		const events = parseEvents(await text(source(), { input: "hi", stream: true }));
		expect(events.at(-1)).toMatchObject({
			type: "response.completed",
			response: { output: [{ content: [{ text: "Hello" }] }], usage: USAGE },
		});
	});

	it("answers messages with chunks, then the native usage event", async () => {
		const frames = (await text(source(), { messages: [HI], stream: true })).split("\n\n");
		expect(frames.at(-2)).toBe("data: [DONE]");
		expect(JSON.parse(frames.at(-3)?.slice("data: ".length) ?? "")).toEqual({
			response: "",
			usage: USAGE_CHUNK.usage,
		});
		expect(JSON.parse(frames[0]?.slice("data: ".length) ?? "")).toMatchObject({
			object: "chat.completion.chunk",
			model: "@cf/openai/gpt-oss-20b",
			choices: [{ delta: { content: "Hello" } }],
		});
	});

	it("streams a complete reply, in both forms", async () => {
		const value = answered(completion({ content: "Hello" }));
		expect(await text(value, { input: "hi", stream: true })).toContain("event: response.completed\n");
		expect(await text(value, { messages: [HI], stream: true })).toMatch(/data: \[DONE\]\n\n$/);
	});
});
