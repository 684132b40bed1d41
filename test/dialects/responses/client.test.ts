/** Reads our responses with OpenAI's own client. */
import OpenAI from "openai";
import type { ResponseStreamEvent } from "openai/resources/responses/responses";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { responses } from "../../../src/dialects/responses/responses.ts";
import type { TaskAnswer } from "../../../src/tasks/task.ts";
import {
	answered,
	completion,
	contextOf,
	delta,
	hubText,
	streamed,
	streamOf,
	USAGE,
	USAGE_CHUNK,
} from "./fixtures.ts";

const clientOf = (answer: TaskAnswer): OpenAI =>
	new OpenAI({
		apiKey: "none",
		baseURL: "http://gateway/ai/v1",
		maxRetries: 0,
		dangerouslyAllowBrowser: true,
		fetch: async (_, init) => {
			const rendered = responses.writer.write(answer, contextOf(JSON.parse(String(init?.body))));
			if (rendered.kind === "json") return Response.json(rendered.value);
			if (rendered.kind !== "events") throw new Error(`rendered as ${rendered.kind}`);
			return new Response(rendered.events, { headers: { "content-type": "text/event-stream" } });
		},
	});

const CHUNKS = [
	delta({ role: "assistant", reasoning_content: "Hm" }),
	delta({ reasoning_content: "." }),
	delta({ content: "Look" }),
	delta({ content: "ing." }),
	delta({ tool_calls: [{ index: 0, id: "a", function: { name: "look", arguments: '{"at"' } }] }),
	delta({ tool_calls: [{ index: 1, id: "b", function: { name: "nod", arguments: "{}" } }] }),
	delta({ tool_calls: [{ index: 0, function: { arguments: ":1}" } }] }),
	delta({}, "tool_calls"),
	USAGE_CHUNK,
];
const MODEL = "@cf/test/chat";

describe("the openai SDK", () => {
	it("accumulates a stream to its final response", async () => {
		const client = clientOf(streamed(streamOf([hubText(CHUNKS)])));
		const stream = client.responses.stream({ model: MODEL, input: "hi" });
		let text = "";
		let last: ResponseStreamEvent | undefined;
		const calls = new Map<string, string>();
		stream.on("response.output_text.delta", ({ delta, snapshot }) => {
			text += delta;
			expect(snapshot).toBe(text);
		});
		stream.on("response.function_call_arguments.delta", ({ item_id, snapshot }) => {
			calls.set(item_id, snapshot);
		});
		stream.on("event", (event) => {
			last = event;
		});
		const final = await stream.finalResponse();
		expect(text).toBe("Looking.");
		expect([...calls.values()]).toEqual(['{"at":1}', "{}"]);
		expect(final.output_text).toBe("Looking.");
		expect(final.usage).toEqual(USAGE);
		expect(final.output).toMatchObject([
			{ type: "reasoning", content: [{ text: "Hm." }] },
			{ type: "message", content: [{ text: "Looking." }] },
			{ type: "function_call", call_id: "a", name: "look", arguments: '{"at":1}' },
			{ type: "function_call", call_id: "b", name: "nod", arguments: "{}" },
		]);
		expect(last).toMatchObject({
			type: "response.completed",
			response: { output: final.output.map(({ id }) => ({ id })) },
		});
	});

	it("builds the final response from the other events", async () => {
		const client = clientOf(streamed(streamOf([hubText(CHUNKS)])));
		// Without the output the accumulator must use the items of the earlier events.
		const events: unknown[] = [];
		for await (const event of await client.responses.create({ model: MODEL, input: "hi", stream: true }))
			events.push(
				event.type === "response.completed"
					? { ...event, response: { ...event.response, output: null } }
					: event,
			);
		const lines = events.map((event) => `${JSON.stringify(event)}\n`);
		const { ResponseStream } = await import("openai/lib/responses/ResponseStream");
		const final = await ResponseStream.fromReadableStream(streamOf(lines)).finalResponse();
		expect(final.output_text).toBe("Looking.");
		expect(final.output).toHaveLength(4);
	});

	it("reads calls of tools in a namespace and of custom tools", async () => {
		const client = clientOf(
			streamed(
				streamOf([
					hubText([
						delta({
							tool_calls: [{ index: 0, id: "a", function: { name: "files__get__size", arguments: "{}" } }],
						}),
						delta({
							tool_calls: [{ index: 1, id: "b", function: { name: "patch", arguments: '{"input":"a' } }],
						}),
						delta({ tool_calls: [{ index: 1, function: { arguments: '\\nb"}' } }] }),
						delta({}, "tool_calls"),
						USAGE_CHUNK,
					]),
				]),
			),
		);
		const parameters = { type: "object", properties: {} };
		const stream = client.responses.stream({
			model: MODEL,
			input: "hi",
			tools: [
				{
					type: "namespace",
					name: "files",
					description: "Files.",
					tools: [{ type: "function", name: "get__size", parameters }],
				},
				{ type: "custom", name: "patch" },
			],
		});
		const events: ResponseStreamEvent[] = [];
		stream.on("event", (event) => events.push(event));
		const final = await stream.finalResponse();
		const calls = [
			{ type: "function_call", call_id: "a", namespace: "files", name: "get__size", arguments: "{}" },
			{ type: "custom_tool_call", call_id: "b", name: "patch", input: "a\nb" },
		];
		expect(final.output).toMatchObject(calls);
		const done = events.flatMap((event) => (event.type === "response.output_item.done" ? [event.item] : []));
		expect(done).toMatchObject(calls);
		const added = events.flatMap((event) =>
			event.type === "response.output_item.added" ? [event.item] : [],
		);
		expect(added).toMatchObject([
			{ type: "function_call", namespace: "files", name: "get__size" },
			{ type: "custom_tool_call", name: "patch", input: "" },
		]);
		const input = events.flatMap((event) =>
			event.type === "response.custom_tool_call_input.delta" ? [event.delta] : [],
		);
		expect(input.join("")).toBe("a\nb");
		expect(events.filter(({ type }) => type === "response.custom_tool_call_input.done")).toMatchObject([
			{ input: "a\nb", output_index: 1 },
		]);
	});

	it("reads an incomplete response, and a refusal", async () => {
		const incomplete = clientOf(
			streamed(streamOf([hubText([delta({ content: "Yes, b" }), delta({}, "length")])])),
		);
		const short = await incomplete.responses.stream({ model: MODEL, input: "hi" }).finalResponse();
		expect(short).toMatchObject({
			status: "incomplete",
			incomplete_details: { reason: "max_output_tokens" },
			output_text: "Yes, b",
		});
		const chunks = [delta({ content: "Well. " }), delta({ refusal: "No." }), delta({}, "stop")];
		const refusing = clientOf(streamed(streamOf([hubText(chunks)])));
		const { output } = await refusing.responses.stream({ model: MODEL, input: "hi" }).finalResponse();
		expect(output).toMatchObject([{ content: [{ text: "Well. " }, { type: "refusal", refusal: "No." }] }]);
	});

	it("throws our error if a stream fails, at the start or later", async () => {
		for (const pieces of [[], [`data: ${JSON.stringify(delta({ content: "Hel" }))}\n\n`]]) {
			const failing = () => clientOf(streamed(streamOf(pieces, new AiError("outOfCapacity"))));
			const failure = {
				code: "rate_limit_exceeded",
				message: expect.stringContaining("Capacity temporarily exceeded"),
			};
			const accumulated = failing().responses.stream({ model: MODEL, input: "hi" });
			await expect(accumulated.finalResponse()).rejects.toMatchObject(failure);
			const events = await failing().responses.create({ model: MODEL, input: "hi", stream: true });
			const reading = async () => {
				for await (const _ of events);
			};
			await expect(reading()).rejects.toMatchObject(failure);
		}
	});

	it("reads a complete response and parses its JSON", async () => {
		const client = clientOf(answered(completion({ content: '{"mood":"sad"}' })));
		const schema = { type: "object", properties: { mood: { type: "string" } } };
		const parsed = await client.responses.parse({
			model: MODEL,
			input: "hi",
			text: { format: { type: "json_schema", name: "mood", schema, strict: true } },
		});
		expect(parsed.output_parsed).toEqual({ mood: "sad" });
		expect(parsed.output_text).toBe('{"mood":"sad"}');
	});

	it("reads a stream of a complete reply", async () => {
		const client = clientOf(answered(completion({ reasoning: "Hm.", content: "Hello" })));
		const final = await client.responses.stream({ model: MODEL, input: "hi" }).finalResponse();
		expect(final.output_text).toBe("Hello");
	});

	it("sends its output back as input", async () => {
		const client = clientOf(streamed(streamOf([hubText(CHUNKS)])));
		const { output } = await client.responses.stream({ model: MODEL, input: "hi" }).finalResponse();
		const input = [
			{ role: "user", content: "hi" },
			...output,
			{ type: "function_call_output", call_id: "a", output: "a cat" },
		];
		const { call } = contextOf({ input });
		expect(call.input).toMatchObject({
			messages: [
				{ role: "user" },
				{
					role: "assistant",
					content: "Looking.",
					reasoning_content: "Hm.",
					tool_calls: [{ id: "a" }, { id: "b" }],
				},
				{ role: "tool", tool_call_id: "a", content: "a cat" },
			],
		});
	});
});
