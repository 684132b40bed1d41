/// <reference types="vite/client" />
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { responses } from "../../../src/dialects/responses/responses.ts";
import type { ChatChunk } from "../../../src/tasks/text-generation/types.ts";
import recorded from "../../fixtures/openai/llama-cpp/chat.sse?raw";
import {
	answered,
	completion,
	contextOf,
	delta,
	type Event,
	eventsOf,
	hubText,
	jsonOf,
	parseEvents,
	streamed,
	streamOf,
	USAGE,
	USAGE_CHUNK,
} from "./fixtures.ts";

const BODY = { input: "hi", stream: true };

const write = (pieces: (string | Uint8Array)[], error?: Error): Promise<string> =>
	new Response(eventsOf(responses.writer.write(streamed(streamOf(pieces, error)), contextOf(BODY)))).text();

const eventsFrom = async (chunks: ChatChunk[]): Promise<Event[]> =>
	parseEvents(await write([hubText(chunks)]));

/** A short form of each event: its type and its new content. */
const brief = ({ type, delta, text, refusal, arguments: args, output_index, item }: Event): string =>
	[
		type.replace("response.", ""),
		output_index,
		(item as Event | undefined)?.type,
		delta ?? text ?? refusal ?? args,
	]
		.filter((word) => word !== undefined)
		.join(" ");

/** The response of each lifecycle event. */
const response = (
	status: string,
	output: string,
	usage = "null",
	rest: Record<string, string> = {},
): string =>
	[
		'{"id":"id-1776784307643","object":"response","created_at":1776784307',
		`"status":"${status}","background":false,"error":${rest.error ?? "null"}`,
		`"incomplete_details":${rest.incomplete ?? "null"},"instructions":null,"max_output_tokens":null`,
		`"max_tool_calls":null,"model":"@cf/test/chat","output":[${output}],"parallel_tool_calls":true`,
		'"previous_response_id":null,"prompt_cache_key":null,"reasoning":{"effort":null,"summary":null}',
		'"safety_identifier":null,"service_tier":"default","store":false,"temperature":1',
		'"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":1',
		`"truncation":"disabled","usage":${usage},"user":null,"metadata":{}}`,
	].join(",");

const BEGIN = [
	`event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":${response("in_progress", "")}}\n\n`,
	`event: response.in_progress\ndata: {"type":"response.in_progress","sequence_number":1,"response":${response("in_progress", "")}}\n\n`,
].join("");

describe("bytes", () => {
	it("writes text", async () => {
		const chunks = [
			delta({ role: "assistant", content: "" }),
			delta({ content: "Hel" }),
			delta({ content: "lo" }),
			delta({}, "stop"),
			USAGE_CHUNK,
		];
		const place = '"item_id":"msg_01","output_index":0,"content_index":0';
		const part = '{"type":"output_text","text":"Hello","annotations":[],"logprobs":[]}';
		const item = `{"id":"msg_01","type":"message","status":"completed","role":"assistant","content":[${part}]}`;
		const usage =
			'{"input_tokens":5,"input_tokens_details":{"cached_tokens":3},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":7}';
		expect(await write([hubText(chunks)])).toBe(
			[
				BEGIN,
				'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_01","type":"message","status":"in_progress","role":"assistant","content":[]}}\n\n',
				`event: response.content_part.added\ndata: {"type":"response.content_part.added","sequence_number":3,${place},"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}\n\n`,
				`event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4,${place},"delta":"Hel","logprobs":[]}\n\n`,
				`event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":5,${place},"delta":"lo","logprobs":[]}\n\n`,
				`event: response.output_text.done\ndata: {"type":"response.output_text.done","sequence_number":6,${place},"text":"Hello","logprobs":[]}\n\n`,
				`event: response.content_part.done\ndata: {"type":"response.content_part.done","sequence_number":7,${place},"part":${part}}\n\n`,
				`event: response.output_item.done\ndata: {"type":"response.output_item.done","sequence_number":8,"output_index":0,"item":${item}}\n\n`,
				`event: response.completed\ndata: {"type":"response.completed","sequence_number":9,"response":${response("completed", item, usage)}}\n\n`,
			].join(""),
		);
	});

	it("ends a failed stream with one error and the failed response, without [DONE]", async () => {
		const failure = new AiError("outOfCapacity");
		const text = await write([hubText([delta({ content: "Hel" })]).replace("data: [DONE]\n\n", "")], failure);
		const message = "AiError: Out of capacity: Capacity temporarily exceeded, please try again. (req-1)";
		const error = `"code":"rate_limit_exceeded","message":"${message}"`;
		const item =
			'{"id":"msg_01","type":"message","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"Hel","annotations":[],"logprobs":[]}]}';
		expect(text.slice(text.indexOf("event: error"))).toBe(
			[
				`event: error\ndata: {"type":"error","sequence_number":5,${error},"param":null,"error":{"type":"rate_limit_exceeded",${error},"param":null}}\n\n`,
				`event: response.failed\ndata: {"type":"response.failed","sequence_number":6,"response":${response("failed", item, "null", { error: `{${error}}` })}}\n\n`,
			].join(""),
		);
		expect(parseEvents(text).map(({ type }) => type)).not.toContain("response.completed");
	});
});

describe("order of events", () => {
	it("writes reasoning as a separate item before the text", async () => {
		const events = await eventsFrom([
			delta({ role: "assistant", content: "", reasoning_content: "Hm" }),
			delta({ reasoning: ", so", reasoning_content: ", so" }),
			delta({ reasoning: "." }),
			delta({ content: "Yes" }),
			delta({}, "stop"),
			USAGE_CHUNK,
		]);
		expect(events.map(brief)).toEqual([
			"created",
			"in_progress",
			"output_item.added 0 reasoning",
			"content_part.added 0",
			"reasoning_text.delta 0 Hm",
			"reasoning_text.delta 0 , so",
			"reasoning_text.delta 0 .",
			"reasoning_text.done 0 Hm, so.",
			"content_part.done 0",
			"output_item.done 0 reasoning",
			"output_item.added 1 message",
			"content_part.added 1",
			"output_text.delta 1 Yes",
			"output_text.done 1 Yes",
			"content_part.done 1",
			"output_item.done 1 message",
			"completed",
		]);
		expect(events.at(-1)?.response).toMatchObject({
			status: "completed",
			usage: USAGE,
			output: [
				{
					id: "rs_01",
					type: "reasoning",
					status: "completed",
					summary: [],
					content: [{ type: "reasoning_text", text: "Hm, so." }],
				},
				{ id: "msg_02", content: [{ type: "output_text", text: "Yes" }] },
			],
		});
	});

	it("writes the calls in sequence, also if the engine interleaves them", async () => {
		const events = await eventsFrom([
			delta({ content: "Looking." }),
			delta({
				tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "look", arguments: "" } }],
			}),
			delta({
				tool_calls: [{ index: 1, id: "b", type: "function", function: { name: "nod", arguments: '{"x"' } }],
			}),
			delta({ tool_calls: [{ index: 0, function: { arguments: '{"at":1}' } }] }),
			delta({
				tool_calls: [
					{ index: 1, function: { arguments: ":2}" } },
					{ index: 1, id: null, type: null, function: { name: null, arguments: "" } },
				],
			}),
			delta({}, "tool_calls"),
			USAGE_CHUNK,
		]);
		expect(events.map(brief).slice(4)).toEqual([
			"output_text.delta 0 Looking.",
			"output_text.done 0 Looking.",
			"content_part.done 0",
			"output_item.done 0 message",
			"output_item.added 1 function_call",
			'function_call_arguments.delta 1 {"at":1}',
			'function_call_arguments.done 1 {"at":1}',
			"output_item.done 1 function_call",
			"output_item.added 2 function_call",
			'function_call_arguments.delta 2 {"x"',
			"function_call_arguments.delta 2 :2}",
			'function_call_arguments.done 2 {"x":2}',
			"output_item.done 2 function_call",
			"completed",
		]);
		const item = { type: "function_call", status: "completed" };
		expect(events.at(-1)?.response).toMatchObject({
			status: "completed",
			output: [
				{ type: "message", status: "completed" },
				{ ...item, id: "fc_02", call_id: "a", name: "look", arguments: '{"at":1}' },
				{ ...item, id: "fc_03", call_id: "b", name: "nod", arguments: '{"x":2}' },
			],
		});
	});

	it("ends a call when the next one starts or text follows", async () => {
		const call = (index: number, text: string) =>
			delta({ tool_calls: [{ index, id: `c${index}`, function: { name: "look", arguments: text } }] });
		const events = await eventsFrom([call(0, '{"at":1}'), call(1, "{}"), delta({ content: "So." })]);
		expect(events.map(brief).slice(2)).toEqual([
			"output_item.added 0 function_call",
			'function_call_arguments.delta 0 {"at":1}',
			'function_call_arguments.done 0 {"at":1}',
			"output_item.done 0 function_call",
			"output_item.added 1 function_call",
			"function_call_arguments.delta 1 {}",
			"function_call_arguments.done 1 {}",
			"output_item.done 1 function_call",
			"output_item.added 2 message",
			"content_part.added 2",
			"output_text.delta 2 So.",
			"output_text.done 2 So.",
			"content_part.done 2",
			"output_item.done 2 message",
			"completed",
		]);
	});

	it("writes incomplete calls if the answer was interrupted", async () => {
		const events = await eventsFrom([
			delta({ tool_calls: [{ index: 0, id: "a", function: { name: "look", arguments: '{"at' } }] }),
			delta({ tool_calls: [{ index: 1, id: "b", function: { name: "nod", arguments: '{"x"' } }] }),
			delta({}, "length"),
		]);
		expect(events.at(-1)?.response).toMatchObject({
			status: "incomplete",
			output: [
				{ call_id: "a", status: "completed", arguments: '{"at' },
				{ call_id: "b", status: "incomplete", arguments: '{"x"' },
			],
		});
	});

	it("adds the id of a call if the engine sends none", async () => {
		const events = await eventsFrom([
			delta({ tool_calls: [{ index: 0, function: { name: "look", arguments: "{}" } }] }),
			delta({}, "tool_calls"),
		]);
		expect(events.at(-1)?.response).toMatchObject({ output: [{ id: "fc_02", call_id: "call_01" }] });
	});

	it("writes a refusal as a part of the message", async () => {
		const events = await eventsFrom([
			delta({ content: "Well." }),
			delta({ refusal: "I can" }),
			delta({ refusal: "not." }),
			delta({}, "stop"),
		]);
		expect(events.map(brief).slice(4)).toEqual([
			"output_text.delta 0 Well.",
			"output_text.done 0 Well.",
			"content_part.done 0",
			"content_part.added 0",
			"refusal.delta 0 I can",
			"refusal.delta 0 not.",
			"refusal.done 0 I cannot.",
			"content_part.done 0",
			"output_item.done 0 message",
			"completed",
		]);
		expect(events.filter(({ type }) => type === "response.refusal.delta")).toMatchObject([
			{ content_index: 1 },
			{ content_index: 1 },
		]);
	});

	it.each([
		["length", "max_output_tokens"],
		["model_length", "max_output_tokens"],
		["content_filter", "content_filter"],
	])("ends an answer with the finish reason %s as incomplete", async (finish, reason) => {
		const events = await eventsFrom([
			delta({ reasoning: "Hm" }),
			delta({ content: "Yes, b" }),
			delta({}, finish),
			USAGE_CHUNK,
		]);
		expect(events.at(-1)).toMatchObject({
			type: "response.incomplete",
			response: {
				status: "incomplete",
				incomplete_details: { reason },
				output: [
					{ type: "reasoning", status: "completed" },
					{ type: "message", status: "incomplete", content: [{ text: "Yes, b" }] },
				],
				usage: USAGE,
			},
		});
		expect(events.at(-2)).toMatchObject({
			type: "response.output_item.done",
			item: { status: "incomplete" },
		});
	});

	it("writes an empty answer as one empty message", async () => {
		const events = await eventsFrom([delta({ role: "assistant", content: "" }), delta({}, "stop")]);
		expect(events.map(brief).slice(2)).toEqual([
			"output_item.added 0 message",
			"content_part.added 0",
			"output_text.done 0 ",
			"content_part.done 0",
			"output_item.done 0 message",
			"completed",
		]);
	});

	it("writes log probabilities in the deltas and in the items", async () => {
		const token = { token: "Hi", logprob: -0.1, bytes: [72, 105] };
		const chunk = delta({ content: "Hi" });
		for (const choice of chunk.choices)
			choice.logprobs = { content: [{ ...token, top_logprobs: [{ ...token, bytes: null }] }], refusal: null };
		const events = await eventsFrom([chunk, delta({}, "stop")]);
		const logprobs = [{ ...token, top_logprobs: [{ ...token, bytes: [] }] }];
		expect(events.find(({ type }) => type === "response.output_text.delta")).toMatchObject({ logprobs });
		expect(events.at(-1)?.response).toMatchObject({ output: [{ content: [{ text: "Hi", logprobs }] }] });
	});
});

describe("a failing stream", () => {
	it("starts even if it fails at once", async () => {
		const events = parseEvents(await write([], new AiError("modelTimeout")));
		expect(events.map(({ type }) => type)).toEqual([
			"response.created",
			"response.in_progress",
			"error",
			"response.failed",
		]);
		expect(events[2]).toMatchObject({
			code: "server_error",
			message: "AiError: AiError: Request timeout (req-1)",
		});
	});

	it.each([
		["stops before its end", [delta({ content: "Hel" })]],
		["has an engine that gives up", [delta({ content: "Hel" }, "error"), delta({ content: "lo" })]],
	])("fails when it %s", async (_, chunks) => {
		const text = await write([hubText(chunks).replace("data: [DONE]\n\n", "")]);
		const types = parseEvents(text).map(({ type }) => type);
		expect(types.slice(-3)).toEqual(["response.output_text.delta", "error", "response.failed"]);
	});

	it("does not disclose the message of an unknown failure", async () => {
		const text = await write([], new Error("secret"));
		expect(text).not.toContain("secret");
		expect(text).toContain("Model execution failed");
	});

	it("does not fail after its end", async () => {
		const text = await write([hubText([delta({ content: "Hi" }, "stop")])], new AiError("aborted"));
		expect(parseEvents(text).at(-1)?.type).toBe("response.completed");
	});

	it("cancels the source when the caller disconnects", async () => {
		let stopped: unknown;
		const source = new ReadableStream<Uint8Array>({
			pull(controller) {
				controller.enqueue(new TextEncoder().encode(hubText([delta({ content: "Hi" })]).slice(0, -14)));
			},
			cancel(reason) {
				stopped = reason;
			},
		});
		const events = eventsOf(responses.writer.write(streamed(source), contextOf(BODY)));
		const reader = events.getReader();
		await reader.read();
		await reader.cancel("left");
		expect(stopped).toBe("left");
	});
});

describe("the events are the same", () => {
	const chunks = [
		delta({ role: "assistant", reasoning_content: "Grüße, 世界" }),
		delta({ content: "👋 hi\n\n" }),
		delta({ content: "data: x" }),
		delta({ tool_calls: [{ index: 0, id: "a", function: { name: "look", arguments: '{"a":"é"}' } }] }),
		delta({}, "tool_calls"),
		USAGE_CHUNK,
	];
	const hub = new TextEncoder().encode(hubText(chunks));

	it("for any split of the hub's bytes", async () => {
		const complete = await write([hub]);
		await fc.assert(
			fc.asyncProperty(fc.array(fc.nat(hub.length), { maxLength: 12 }), async (cuts) => {
				const places = [0, ...cuts.toSorted((a, b) => a - b), hub.length];
				const pieces = places.slice(1).map((end, index) => hub.slice(places[index], end));
				expect(await write(pieces)).toBe(complete);
			}),
			{ numRuns: 60 },
		);
	});

	it("for a complete reply as a stream: its last event has the complete response", async () => {
		const text = fc.option(fc.string({ minLength: 1 }), { nil: null });
		const message = fc.record({
			content: text,
			reasoning_content: text,
			refusal: text,
			tool_calls: fc.array(
				fc.record({
					id: fc.constantFrom("", "call_a"),
					type: fc.constant("function" as const),
					function: fc.record({ name: fc.constantFrom("look", "nod"), arguments: fc.json() }),
				}),
				{ maxLength: 1 },
			),
		});
		await fc.assert(
			fc.asyncProperty(message, fc.constantFrom("stop", "length"), async (content, finish) => {
				const answer = answered(completion(content, finish));
				const value = jsonOf(responses.writer.write(answer, contextOf({ input: "hi" })));
				const stream = eventsOf(responses.writer.write(answer, contextOf(BODY)));
				expect(parseEvents(await new Response(stream).text()).at(-1)?.response).toEqual(value);
			}),
			{ numRuns: 60 },
		);
	});
});

it("reads a recording of a real engine", async () => {
	const events = parseEvents(await write([recorded]));
	const text = events.filter(({ type }) => type === "response.output_text.delta").map((event) => event.delta);
	expect(text.length).toBeGreaterThan(10);
	expect(events.at(-1)?.response).toMatchObject({
		output: [{ content: [{ text: text.join("") }] }],
		usage: { output_tokens: expect.any(Number) },
	});
});
