/** Replies of Anthropic's, Gemini's, Ollama's and OpenAI's Responses API in forms that proxies and copies of these APIs send. */
import { answer, type ExpectedAnswer, hello, OSLO, oslo, osloAndRome } from "./expected-answer.ts";

export interface ProviderReply {
	name: string;
	body: string;
	type: string;
	answer: ExpectedAnswer;
}

/** JSON text of the JSON text of the arguments. */
const TWICE = JSON.stringify('{"city":"Oslo"}');

const JSON_TYPE = "application/json";
const SSE = "text/event-stream";

const of = (name: string, expected: ExpectedAnswer, body: unknown, type = JSON_TYPE): ProviderReply => ({
	name,
	body: typeof body === "string" ? body : JSON.stringify(body),
	type,
	answer: expected,
});
const events = (...list: { type: string }[]): string =>
	list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const USAGE = { input_tokens: 20, output_tokens: 9 };
const message = (content: unknown, fields: object = {}): object => ({
	type: "message",
	id: "msg_1",
	role: "assistant",
	model: "claude-opus-5-5",
	content,
	stop_reason: "end_turn",
	usage: USAGE,
	...fields,
});
const started = { type: "message_start", message: { ...message([]), stop_reason: null } };
const stopped = (stop_reason: string) => [
	{ type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 9 } },
	{ type: "message_stop" },
];
const block = (index: number, content_block: object, ...deltas: object[]) => [
	{ type: "content_block_start", index, content_block },
	...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
	{ type: "content_block_stop", index },
];
const HELLO_EVENTS = events(
	started,
	...block(0, { type: "text", text: "" }, { type: "text_delta", text: "Hello" }),
	...stopped("end_turn"),
);
const CALL_EVENTS = events(
	started,
	...block(
		0,
		{ type: "tool_use", id: "toolu_1", name: "get_weather", input: {} },
		{ type: "input_json_delta", partial_json: '{"city":"Oslo"}' },
	),
	...stopped("tool_use"),
);

const ANTHROPIC: readonly ProviderReply[] = [
	of("a message", hello, message([{ type: "text", text: "Hello" }])),
	of(
		"arguments as text",
		oslo,
		message([{ type: "tool_use", id: "toolu_1", name: "get_weather", input: '{"city":"Oslo"}' }], {
			stop_reason: "tool_use",
		}),
	),
	of(
		"calls without ids, the reason end_turn",
		osloAndRome,
		message([
			{ type: "tool_use", name: "get_weather", input: { city: "Oslo" } },
			{ type: "tool_use", name: "get_weather", input: { city: "Rome" } },
		]),
	),
	of(
		"arguments that are encoded twice",
		oslo,
		message([{ type: "tool_use", id: "toolu_1", name: "get_weather", input: TWICE }], {
			stop_reason: "tool_use",
		}),
	),
	of(
		"a stream with arguments that are encoded twice",
		osloAndRome,
		events(
			started,
			...block(
				0,
				{ type: "tool_use", id: "toolu_1", name: "get_weather", input: {} },
				{ type: "input_json_delta", partial_json: TWICE.slice(0, 6) },
				{ type: "input_json_delta", partial_json: TWICE.slice(6) },
			),
			...block(1, { type: "tool_use", id: "toolu_2", name: "get_weather", input: '{"city":"Rome"}' }),
			...stopped("tool_use"),
		),
		SSE,
	),
	of("content as a text", hello, message("Hello")),
	of("content as one block", hello, message({ type: "text", text: "Hello" })),
	of("no type and no reason", hello, {
		id: "msg_1",
		role: "assistant",
		content: [{ type: "text", text: "Hello" }],
		usage: USAGE,
	}),
	of("no content, max_tokens", answer({ finish: "length" }), message([], { stop_reason: "max_tokens" })),
	of("a stream", hello, HELLO_EVENTS, SSE),
	of(
		"a stream without the starts of its blocks",
		answer({ text: "Hello", reasoning: "Hm." }),
		events(
			started,
			...block(0, {}, { type: "thinking_delta", thinking: "Hm." }).slice(1),
			...block(1, {}, { type: "text_delta", text: "Hel" }, { type: "text_delta", text: "lo" }).slice(1),
			...stopped("end_turn"),
		),
		SSE,
	),
	of(
		"a stream with deltas before the start and after the end of a block, and arguments without a call",
		answer({ text: "Hello", calls: [OSLO] }),
		events(
			started,
			{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } } as never,
			...block(0, { type: "text", text: "" }, { type: "text_delta", text: "l" }),
			{ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "o" } } as never,
			{
				type: "content_block_delta",
				index: 7,
				delta: { type: "input_json_delta", partial_json: "{" },
			} as never,
			...block(
				1,
				{ type: "tool_use", id: "toolu_1", name: "get_weather", input: {} },
				{ type: "input_json_delta", partial_json: '{"city":"Oslo"}' },
			),
			...stopped("tool_use"),
		),
		SSE,
	),
	of("a stream as application/octet-stream", oslo, CALL_EVENTS, "application/octet-stream"),
	of("a stream as text/plain", hello, HELLO_EVENTS, "text/plain"),
	of("a stream as application/json", oslo, CALL_EVENTS, JSON_TYPE),
	of("a stream without names of events", hello, HELLO_EVENTS.replaceAll(/^event: .*\n/gm, ""), SSE),
	of("a stream with [DONE]", oslo, `${CALL_EVENTS}data: [DONE]\n\n`, SSE),
	of(
		"a stream with [DONE] in the place of message_stop",
		hello,
		HELLO_EVENTS.replace(/event: message_stop\n.*\n\n/, "data: [DONE]\n\n"),
		SSE,
	),
	of(
		"a stream with arguments as text in the start",
		oslo,
		events(
			started,
			...block(0, { type: "tool_use", id: "toolu_1", name: "get_weather", input: '{"city":"Oslo"}' }),
			...stopped("tool_use"),
		),
		SSE,
	),
	of(
		"a stream with the arguments in the start and once more",
		oslo,
		events(
			started,
			...block(
				0,
				{ type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" } },
				{ type: "input_json_delta", partial_json: '{"city":' },
				{ type: "input_json_delta", partial_json: '"Oslo"}' },
			),
			...stopped("tool_use"),
		),
		SSE,
	),
	of(
		"a stream with calls without ids, the reason end_turn",
		osloAndRome,
		events(
			started,
			...block(
				0,
				{ type: "tool_use", name: "get_weather", input: {} },
				{ type: "input_json_delta", partial_json: '{"city":"Oslo"}' },
			),
			...block(
				1,
				{ type: "tool_use", name: "get_weather", input: {} },
				{ type: "input_json_delta", partial_json: '{"city":"Rome"}' },
			),
			...stopped("end_turn"),
		),
		SSE,
	),
];

const candidate = (parts: unknown, fields: object = {}): object => ({
	candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP", ...fields }],
	usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 9, totalTokenCount: 29 },
	modelVersion: "gemini-3.8-flash",
	responseId: "r-1",
});
const unfinished = (parts: unknown): object => candidate(parts, { finishReason: undefined });
const sse = (...list: object[]): string =>
	list.map((value) => `data: ${JSON.stringify(value)}\r\n\r\n`).join("");
const GEMINI_PIECES = [unfinished([{ text: "Hel" }]), candidate([{ text: "lo" }])];
const call = (args: unknown, fields: object = {}) => ({
	functionCall: { name: "get_weather", args, ...fields },
});

const GEMINI: readonly ProviderReply[] = [
	of("a reply", hello, candidate([{ text: "Hello" }])),
	of("a list", hello, GEMINI_PIECES),
	of("a list over several lines", hello, JSON.stringify(GEMINI_PIECES, null, 2)),
	of("a list with one reply", oslo, [candidate([call({ city: "Oslo" })])]),
	of("arguments as text", oslo, candidate([call('{"city":"Oslo"}')])),
	of("arguments that are encoded twice", oslo, candidate([call(TWICE)])),
	of("a stream with arguments that are encoded twice", oslo, sse(candidate([call(TWICE)])), SSE),
	of(
		"arguments of null",
		answer({ calls: [["get_time", {}]] }),
		candidate([{ functionCall: { name: "get_time", args: null } }]),
	),
	of(
		"the name with its namespace",
		oslo,
		candidate([call({ city: "Oslo" }, { name: "default_api:get_weather" })]),
	),
	of("one part, not in a list", hello, candidate({ text: "Hello" })),
	of(
		"no content, MAX_TOKENS",
		answer({ finish: "length" }),
		candidate(undefined, { content: {}, finishReason: "MAX_TOKENS" }),
	),
	of("a stream", hello, sse(...GEMINI_PIECES), SSE),
	of("a stream as application/json", hello, sse(...GEMINI_PIECES)),
	of("a stream as application/octet-stream", hello, sse(...GEMINI_PIECES), "application/octet-stream"),
	of("a stream with [DONE]", hello, `${sse(...GEMINI_PIECES)}data: [DONE]\n\n`, SSE),
	of("a stream with an event without candidates", hello, sse({ usageMetadata: {} }, ...GEMINI_PIECES), SSE),
	of(
		"a stream with calls in several events",
		osloAndRome,
		sse(unfinished([call({ city: "Oslo" })]), candidate([call({ city: "Rome" })])),
		SSE,
	),
	of(
		"a stream with the calls before an empty end",
		oslo,
		sse(unfinished([call({ city: "Oslo" })]), candidate([{ text: "" }])),
		SSE,
	),
];

const line = (sent: unknown, fields: object = {}): object => ({
	model: "qwen3.8",
	created_at: "2026-11-26T08:00:00Z",
	message: sent,
	done: false,
	...fields,
});
const LAST = { done: true, done_reason: "stop", prompt_eval_count: 20, eval_count: 9 };
const lines = (...list: object[]): string => list.map((value) => `${JSON.stringify(value)}\n`).join("");
const reply = (content: unknown, fields: object = {}) => ({ role: "assistant", content, ...fields });
const OLLAMA_PIECES = [line(reply("Hel")), line(reply("lo")), line(reply(""), LAST)];
const called = (name: string, args: unknown) => ({ function: { name, arguments: args } });
const NDJSON = "application/x-ndjson";

const OLLAMA: readonly ProviderReply[] = [
	of("a reply", hello, line(reply("Hello"), LAST)),
	of(
		"content as a list",
		answer({ text: "Hello", reasoning: "Hm." }),
		line(
			reply([
				{ type: "thinking", thinking: "Hm." },
				{ type: "text", text: "Hello" },
			]),
			LAST,
		),
	),
	of(
		"reasoning in another field",
		answer({ text: "Hello", reasoning: "Hm." }),
		line(reply("Hello", { reasoning_content: "Hm." }), LAST),
	),
	of(
		"flat calls with arguments as text",
		osloAndRome,
		line(
			reply("", {
				tool_calls: [
					{ name: "get_weather", arguments: '{"city":"Oslo"}' },
					called("functions.get_weather", { city: "Rome" }),
				],
			}),
			LAST,
		),
	),
	of(
		"arguments that are encoded twice",
		oslo,
		line(reply("", { tool_calls: [called("get_weather", TWICE)] }), LAST),
	),
	of(
		"a stream with arguments that are encoded twice",
		oslo,
		lines(line(reply("", { tool_calls: [called("get_weather", TWICE)] })), line(reply(""), LAST)),
		NDJSON,
	),
	of(
		"one call, not in a list",
		oslo,
		line(reply(null, { tool_calls: called("get_weather", { city: "Oslo" }) }), LAST),
	),
	of(
		"a call without arguments",
		answer({ calls: [["get_time", {}]] }),
		line(reply("", { tool_calls: [{ function: { name: "get_time" } }] }), LAST),
	),
	of("no field done", hello, { model: "qwen3.8", message: reply("Hello") }),
	of("a stream", hello, lines(...OLLAMA_PIECES), NDJSON),
	of("a stream as text/plain", hello, lines(...OLLAMA_PIECES), "text/plain; charset=utf-8"),
	of("a stream as application/json", hello, lines(...OLLAMA_PIECES)),
	of("a stream as application/octet-stream", hello, lines(...OLLAMA_PIECES), "application/octet-stream"),
	of(
		"a stream of server-sent events",
		hello,
		OLLAMA_PIECES.map((value) => `data: ${JSON.stringify(value)}\n\n`).join(""),
		SSE,
	),
	of(
		"server-sent events with [DONE]",
		hello,
		`${OLLAMA_PIECES.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("")}data: [DONE]\n\n`,
		SSE,
	),
	of(
		"a stream with content as a list",
		hello,
		lines(line(reply([{ type: "text", text: "Hello" }])), line(reply(""), LAST)),
		NDJSON,
	),
	of(
		"a stream with calls in several lines",
		osloAndRome,
		lines(
			line(reply("", { tool_calls: [called("get_weather", { city: "Oslo" })] })),
			line(reply("", { tool_calls: [called("get_weather", '{"city":"Rome"}')] })),
			line(reply(""), LAST),
		),
		NDJSON,
	),
	of(
		"a stream whose lines have no done before the last",
		hello,
		lines({ model: "qwen3.8", message: reply("Hello") }, line(reply(""), LAST)),
		NDJSON,
	),
];

const item = (text: string) => ({
	type: "message",
	id: "msg_1",
	role: "assistant",
	status: "completed",
	content: [{ type: "output_text", text, annotations: [] }],
});
const callItem = (args: unknown, fields: object = {}) => ({
	type: "function_call",
	id: "fc_1",
	call_id: "call_1",
	name: "get_weather",
	arguments: args,
	status: "completed",
	...fields,
});
const response = (output: unknown, fields: object = {}): object => ({
	id: "resp_1",
	object: "response",
	created_at: 1_790_000_000,
	model: "gpt-6.1-sol",
	status: "completed",
	output,
	usage: { input_tokens: 20, output_tokens: 9, total_tokens: 29 },
	...fields,
});
const created = { type: "response.created", response: response([], { status: "in_progress" }) };
const completed = (output: unknown, fields: object = {}) => ({
	type: "response.completed",
	response: response(output, fields),
});
const TEXT_DELTA = {
	type: "response.output_text.delta",
	output_index: 0,
	item_id: "msg_1",
	content_index: 0,
	delta: "Hello",
} as never;
const TEXT_EVENTS = events(
	created,
	{ type: "response.output_item.added", output_index: 0, item: { ...item(""), content: [] } } as never,
	TEXT_DELTA,
	{ type: "response.output_item.done", output_index: 0, item: item("Hello") } as never,
	completed([item("Hello")]),
);

const RESPONSES: readonly ProviderReply[] = [
	of("a response", hello, response([item("Hello")])),
	of("content as a text", hello, response([{ ...item(""), content: "Hello" }])),
	of("arguments as an object", oslo, response([callItem({ city: "Oslo" })])),
	of("a call without call_id", oslo, response([callItem('{"city":"Oslo"}', { call_id: undefined })])),
	of(
		"no output, max_output_tokens",
		answer({ finish: "length" }),
		response([], { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }),
	),
	of("a stream", hello, TEXT_EVENTS, SSE),
	of("a stream as application/octet-stream", hello, TEXT_EVENTS, "application/octet-stream"),
	of("a stream with [DONE]", hello, `${TEXT_EVENTS}data: [DONE]\n\n`, SSE),
	of("a stream without names of events", hello, TEXT_EVENTS.replaceAll(/^event: .*\n/gm, ""), SSE),
	of(
		"a stream with the arguments in the end only",
		oslo,
		events(
			created,
			{ type: "response.output_item.added", output_index: 0, item: callItem("") } as never,
			{
				type: "response.function_call_arguments.done",
				output_index: 0,
				arguments: '{"city":"Oslo"}',
			} as never,
			{ type: "response.output_item.done", output_index: 0, item: callItem('{"city":"Oslo"}') } as never,
			completed([callItem('{"city":"Oslo"}')]),
		),
		SSE,
	),
	of("arguments that are encoded twice", oslo, response([callItem(TWICE)])),
	of(
		"a stream with arguments that are encoded twice",
		oslo,
		events(
			created,
			{ type: "response.output_item.added", output_index: 0, item: callItem("") } as never,
			...[TWICE.slice(0, 6), TWICE.slice(6)].map(
				(delta) => ({ type: "response.function_call_arguments.delta", output_index: 0, delta }) as never,
			),
			{ type: "response.function_call_arguments.done", output_index: 0, arguments: TWICE } as never,
			{ type: "response.output_item.done", output_index: 0, item: callItem(TWICE) } as never,
			completed([callItem(TWICE)]),
		),
		SSE,
	),
	of("a stream with the complete response alone", hello, events(completed([item("Hello")])), SSE),
	of(
		"a stream with an empty list at the end",
		hello,
		TEXT_EVENTS.replace(/("type":"response.completed".*"output":)\[.*\],"usage"/, '$1[],"usage"'),
		SSE,
	),
	of(
		"a stream without output_item.added",
		hello,
		events(created, TEXT_DELTA, completed([item("Hello")])),
		SSE,
	),
];

export const PROVIDER_REPLIES = {
	anthropic: ANTHROPIC,
	gemini: GEMINI,
	ollama: OLLAMA,
	responses: RESPONSES,
};
