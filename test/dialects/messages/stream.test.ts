import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { anthropicMessages } from "../../../src/dialects/messages/messages.ts";
import type { ChatChunk } from "../../../src/tasks/text-generation/types.ts";
import {
	answered,
	completion,
	delta,
	eventsOf,
	hubText,
	streamed,
	streamOf,
	USAGE_CHUNK,
} from "../responses/fixtures.ts";
import { contextOf } from "./fixtures.ts";

const THINKS = { stream: true, thinking: { type: "adaptive" } };

interface Event {
	type: string;
	[field: string]: unknown;
}

const rendered = (source: ReadableStream<Uint8Array>, fields: object = THINKS) =>
	eventsOf(anthropicMessages.writer.write(streamed(source), contextOf(fields)));
const textOf = (events: ReadableStream<Uint8Array>) => new Response(events).text();

/** Parses the events of a stream. Checks that each event's name equals its type. */
const parseEvents = (text: string): Event[] =>
	text
		.split("\n\n")
		.filter(Boolean)
		.map((block) => {
			const [, name, data] = /^event: (\S+)\ndata: (.*)$/.exec(block) ?? [];
			const event: Event = JSON.parse(data ?? "");
			expect(event.type).toBe(name);
			return event;
		});

const written = async (chunks: ChatChunk[], fields?: object) =>
	parseEvents(await textOf(rendered(streamOf([hubText(chunks)]), fields)));

const piece = (index: number, args: string, start?: { id: string; name: string }) =>
	delta({
		tool_calls: [
			{
				index,
				...(start && { id: start.id }),
				function: { ...(start && { name: start.name }), arguments: args },
			},
		],
	});
const start = (index: number, content_block: object) => ({
	type: "content_block_start",
	index,
	content_block,
});
const blockDelta = (index: number, content: object) => ({
	type: "content_block_delta",
	index,
	delta: content,
});
const stop = (index: number) => ({ type: "content_block_stop", index });
const textBlock = { type: "text", text: "" };
const toolBlock = (id: string, name: string) => ({ type: "tool_use", id, name, input: {} });
const json = (partial_json: string) => ({ type: "input_json_delta", partial_json });
const USAGE_FIELDS = {
	input_tokens: 2,
	cache_creation_input_tokens: 0,
	cache_read_input_tokens: 3,
	output_tokens: 2,
};
const end = (stop_reason: string, usage: object = USAGE_FIELDS) => [
	{ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
	{ type: "message_stop" },
];
const PING = { type: "ping" };

const ANSWER = [
	delta({ role: "assistant", content: "" }),
	delta({ reasoning_content: "H" }),
	delta({ reasoning_content: "m" }),
	delta({ content: "Look" }),
	delta({ content: "ing." }),
	piece(0, "", { id: "a", name: "look" }),
	piece(0, '{"at"'),
	piece(0, ":1}"),
	piece(1, "{}", { id: "b", name: "nod" }),
	delta({}, "tool_calls"),
	USAGE_CHUNK,
];

describe("a stream", () => {
	it("of text has Anthropic's exact bytes", async () => {
		const chunks = [
			delta({ role: "assistant", content: "" }),
			delta({ content: "he" }),
			delta({ content: "llo" }, "stop"),
			USAGE_CHUNK,
		];
		expect(await textOf(rendered(streamOf([hubText(chunks)])))).toBe(
			[
				'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"@cf/test/chat","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}',
				'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
				'event: ping\ndata: {"type":"ping"}',
				'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"he"}}',
				'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"llo"}}',
				'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
				'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":2,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":2}}',
				'event: message_stop\ndata: {"type":"message_stop"}',
				"",
			].join("\n\n"),
		);
	});

	it("of thinking, text and calls has one block for each, in sequence", async () => {
		expect((await written(ANSWER)).slice(1)).toEqual([
			start(0, { type: "thinking", thinking: "", signature: "" }),
			PING,
			blockDelta(0, { type: "thinking_delta", thinking: "H" }),
			blockDelta(0, { type: "thinking_delta", thinking: "m" }),
			stop(0),
			start(1, textBlock),
			blockDelta(1, { type: "text_delta", text: "Look" }),
			blockDelta(1, { type: "text_delta", text: "ing." }),
			stop(1),
			start(2, toolBlock("toolu_gw_YQ", "look")),
			blockDelta(2, json('{"at"')),
			blockDelta(2, json(":1}")),
			stop(2),
			start(3, toolBlock("toolu_gw_Yg", "nod")),
			blockDelta(3, json("{}")),
			stop(3),
			...end("tool_use"),
		]);
	});

	it("omits thinking that was not requested", async () => {
		expect((await written(ANSWER, { stream: true })).slice(1, 3)).toEqual([start(0, textBlock), PING]);
	});

	const SIGNED = [
		delta({ reasoning_content: "H" }),
		delta({ reasoning_content: "m" }),
		delta({ thinking_blocks: [{ type: "thinking", thinking: "Hm", signature: "sig" }] }),
		delta({ thinking_blocks: [{ type: "redacted_thinking", data: "x" }] }),
		delta({ content: "a" }, "stop"),
		USAGE_CHUNK,
	];
	const signature = { type: "signature_delta", signature: "sig" };
	const emptyThoughts = { type: "thinking", thinking: "", signature: "" };

	it("ends thinking blocks with their signatures", async () => {
		expect((await written(SIGNED)).slice(1)).toEqual([
			start(0, emptyThoughts),
			PING,
			blockDelta(0, { type: "thinking_delta", thinking: "H" }),
			blockDelta(0, { type: "thinking_delta", thinking: "m" }),
			blockDelta(0, signature),
			stop(0),
			start(1, { type: "redacted_thinking", data: "x" }),
			stop(1),
			start(2, textBlock),
			blockDelta(2, { type: "text_delta", text: "a" }),
			stop(2),
			...end("end_turn"),
		]);
	});

	it("has signed thinking if its display is omitted, and none if it was not requested", async () => {
		const omitted = await written(SIGNED, {
			stream: true,
			thinking: { type: "adaptive", display: "omitted" },
		});
		expect(omitted.slice(1, 6)).toEqual([
			start(0, emptyThoughts),
			PING,
			blockDelta(0, { type: "thinking_delta", thinking: "Hm" }),
			blockDelta(0, signature),
			stop(0),
		]);
		expect((await written(SIGNED, { stream: true }))[1]).toEqual(start(0, textBlock));
		const silent = [delta({ thinking_blocks: [{ type: "thinking", thinking: "", signature: "sig" }] })];
		expect((await written([...silent, USAGE_CHUNK])).slice(1, 5)).toEqual([
			start(0, emptyThoughts),
			PING,
			blockDelta(0, signature),
			stop(0),
		]);
	});

	it("of Anthropic's own stays unchanged, also between blocks of another engine", async () => {
		const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
		const cites = { type: "citations_delta", citation: { type: "web_search_result_location" } };
		const chunks = [
			delta({ content: "b" }),
			delta({ verbatim: [start(4, search), blockDelta(4, json("{}"))] }),
			delta({ verbatim: [stop(4), start(5, textBlock), blockDelta(5, cites)] }),
			delta({ content: "a", verbatim: [blockDelta(5, { type: "text_delta", text: "a" })] }),
			delta({ content: "c" }),
			delta(
				{
					verbatim: [
						{ type: "message_delta", delta: { stop_reason: "pause_turn" }, usage: { service_tier: "batch" } },
					],
				},
				"stop",
			),
			USAGE_CHUNK,
		];
		expect((await written(chunks)).slice(1)).toEqual([
			start(0, textBlock),
			PING,
			blockDelta(0, { type: "text_delta", text: "b" }),
			stop(0),
			start(1, search),
			blockDelta(1, json("{}")),
			stop(1),
			start(2, textBlock),
			blockDelta(2, cites),
			blockDelta(2, { type: "text_delta", text: "a" }),
			// From an engine that continued after Anthropic failed.
			stop(2),
			start(3, textBlock),
			blockDelta(3, { type: "text_delta", text: "c" }),
			stop(3),
			{
				type: "message_delta",
				delta: { stop_reason: "pause_turn" },
				usage: { service_tier: "batch", ...USAGE_FIELDS },
			},
			{ type: "message_stop" },
		]);
	});

	it("is the same for any split of the bytes", async () => {
		const bytes = new TextEncoder().encode(hubText(ANSWER));
		const complete = await textOf(rendered(streamOf([bytes])));
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(bytes.length)), async (splits) => {
				const offsets = [0, ...splits, bytes.length].sort((a, b) => a - b);
				const pieces = offsets.slice(1).map((cut, index) => bytes.slice(offsets[index], cut));
				expect(await textOf(rendered(streamOf(pieces)))).toBe(complete);
			}),
			{ numRuns: 50 },
		);
	});

	it("has the calls in sequence, also if the engine interleaves them", async () => {
		const chunks = [
			piece(0, "{", { id: "a", name: "look" }),
			piece(1, "{", { id: "b", name: "nod" }),
			piece(1, '"x":1}'),
			piece(0, "}"),
			piece(2, "{}", { id: "c", name: "blink" }),
			delta({ content: "Done." }, "tool_calls"),
		];
		expect((await written(chunks)).slice(1)).toEqual([
			start(0, toolBlock("toolu_gw_YQ", "look")),
			PING,
			blockDelta(0, json("{")),
			blockDelta(0, json("}")),
			stop(0),
			start(1, toolBlock("toolu_gw_Yg", "nod")),
			blockDelta(1, json('{"x":1}')),
			stop(1),
			start(2, toolBlock("toolu_gw_Yw", "blink")),
			blockDelta(2, json("{}")),
			stop(2),
			start(3, textBlock),
			blockDelta(3, { type: "text_delta", text: "Done." }),
			stop(3),
			...end("tool_use", { ...USAGE_FIELDS, input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0 }),
		]);
	});

	it("has incomplete calls if the answer was interrupted", async () => {
		const chunks = [
			piece(0, '{"a', { id: "a", name: "look" }),
			piece(1, '{"b', { id: "b", name: "nod" }),
			delta({}, "length"),
			USAGE_CHUNK,
		];
		expect((await written(chunks)).slice(1)).toEqual([
			start(0, toolBlock("toolu_gw_YQ", "look")),
			PING,
			blockDelta(0, json('{"a')),
			stop(0),
			start(1, toolBlock("toolu_gw_Yg", "nod")),
			blockDelta(1, json('{"b')),
			stop(1),
			...end("max_tokens"),
		]);
	});

	it("has the stop sequence that the engine reports", async () => {
		const last = delta({}, "stop");
		const [choice] = last.choices;
		const chunks = [{ ...last, choices: [{ ...choice, stop_reason: "END" } as typeof choice & object] }];
		expect((await written(chunks, { stop_sequences: ["X", "END"] })).at(-2)).toMatchObject({
			delta: { stop_reason: "stop_sequence", stop_sequence: "END" },
		});
	});

	it("starts with the engine's count of the prompt if its first chunk has one", async () => {
		const usage = { prompt_tokens: 40, completion_tokens: 0, total_tokens: 40 };
		const [startedText] = await written([
			{ ...delta({ content: "a" }), usage },
			delta({}, "stop"),
			USAGE_CHUNK,
		]);
		expect(startedText).toMatchObject({ message: { usage: { input_tokens: 40, output_tokens: 0 } } });
	});

	it("may be empty", async () => {
		expect((await written([delta({}, "stop"), USAGE_CHUNK])).slice(1)).toEqual(end("end_turn"));
	});

	it("is written for a complete reply", async () => {
		const answer = answered(completion({ content: "hello" }));
		const events = eventsOf(anthropicMessages.writer.write(answer, contextOf({ stream: true })));
		expect(parseEvents(await textOf(events)).map(({ type }) => type)).toEqual([
			"message_start",
			"content_block_start",
			"ping",
			"content_block_delta",
			"content_block_stop",
			"message_delta",
			"message_stop",
		]);
	});
});

describe("a stream that fails", () => {
	const startedText = hubText([delta({ content: "he" })]).replace("data: [DONE]\n\n", "");
	const failure = (type: string, message: string) => ({
		type: "error",
		error: { type, message },
		request_id: "req-1",
	});

	it("ends with one error and leaves the block open", async () => {
		const error = new AiError("outOfCapacity", "Busy");
		const events = parseEvents(await textOf(rendered(streamOf([startedText], error))));
		expect(events.map(({ type }) => type)).toEqual([
			"message_start",
			"content_block_start",
			"ping",
			"content_block_delta",
			"error",
		]);
		expect(events.at(-1)).toEqual(failure("overloaded_error", "Busy"));
	});

	it.each([
		["without [DONE]", streamOf([startedText])],
		["with the finish reason error", streamOf([hubText([delta({ content: "he" }, "error"), USAGE_CHUNK])])],
	])("%s is reported as unfinished", async (_, source) => {
		const events = parseEvents(await textOf(rendered(source)));
		expect(events.at(-1)).toEqual(failure("api_error", "The model could not finish its answer"));
	});

	it("ends with an error for a malformed chunk or a call that continues after its end", async () => {
		const goesOn = [piece(0, "{}", { id: "a", name: "look" }), delta({ content: "x" }), piece(0, "}")];
		for (const source of [streamOf([`${startedText}data: oops\n\n`]), streamOf([hubText(goesOn)])])
			expect(parseEvents(await textOf(rendered(source))).at(-1)).toMatchObject({
				type: "error",
				error: { type: "api_error" },
			});
	});

	it("cancels its source when it is cancelled", async () => {
		let cancelled = false;
		const source = new ReadableStream<Uint8Array>({
			start: (output) => output.enqueue(new TextEncoder().encode(startedText)),
			cancel() {
				cancelled = true;
			},
		});
		const reader = rendered(source).getReader();
		await reader.read();
		await reader.cancel();
		expect(cancelled).toBe(true);
	});
});
