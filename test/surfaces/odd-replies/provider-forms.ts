/** Further odd forms of the replies of Anthropic's, Gemini's, Ollama's, Workers AI's and OpenAI's Responses API. */
import { answer, type ExpectedAnswer, hello, oslo, osloAndRome } from "./expected-answer.ts";
import type { ProviderReply } from "./provider-cases.ts";

const JSON_TYPE = "application/json";
const SSE = "text/event-stream";
const NDJSON = "application/x-ndjson";

const of = (name: string, expected: ExpectedAnswer, body: unknown, type = JSON_TYPE): ProviderReply => ({
	name,
	body: typeof body === "string" ? body : JSON.stringify(body),
	type,
	answer: expected,
});
type Sent = { type: string; [field: string]: unknown };
const events = (...list: Sent[]): string =>
	list.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
const data = (...list: unknown[]): string =>
	list.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
const byOneBreak = (text: string): string => text.replaceAll("\n\n", "\n");

const message = (content: unknown, fields: object = {}): object => ({
	...{ type: "message", id: "msg_1", role: "assistant", model: "claude-opus-5-5", content },
	...{ stop_reason: "end_turn", usage: { input_tokens: 20, output_tokens: 9 } },
	...fields,
});
const start = (index: number | undefined, content_block: unknown): Sent => ({
	type: "content_block_start",
	...(index !== undefined && { index }),
	content_block,
});
const piece = (index: number | undefined, delta: unknown): Sent => ({
	type: "content_block_delta",
	...(index !== undefined && { index }),
	delta,
});
const close = (index?: number): Sent => ({
	type: "content_block_stop",
	...(index !== undefined && { index }),
});
const ended = (stop_reason: string): Sent[] => [
	{ type: "message_delta", delta: { stop_reason } },
	{ type: "message_stop" },
];
const started: Sent = { type: "message_start", message: { ...message([]), stop_reason: null } };
const TEXT = { type: "text", text: "" };
const CALL = { type: "tool_use", id: "toolu_1", name: "get_weather", input: {} };
const CALL_2 = { ...CALL, id: "toolu_2" };
const args = (city: string) => ({ type: "input_json_delta", partial_json: `{"city":"${city}"}` });
const hel = { type: "text_delta", text: "Hel" };
const lo = { type: "text_delta", text: "lo" };
const HELLO = events(started, start(0, TEXT), piece(0, hel), piece(0, lo), close(0), ...ended("end_turn"));

const ANTHROPIC: readonly ProviderReply[] = [
	of("content as a list of texts", hello, message(["Hel", "lo"])),
	of("blocks without types", oslo, message([{ name: "get_weather", input: { city: "Oslo" } }])),
	of("a block of another type with a text", hello, message([{ type: "output_text", text: "Hello" }])),
	of("usage of null", hello, message([{ type: "text", text: "Hello" }], { usage: null })),
	of("a stream without message_start and usage", hello, HELLO.slice(events(started).length), SSE),
	of(
		"a stream with deltas of other types",
		answer({ text: "Hello", reasoning: "Hm." }),
		events(
			started,
			start(0, { type: "thinking", thinking: "" }),
			piece(0, { type: "reasoning", thinking: "Hm." }),
			close(0),
			start(1, TEXT),
			piece(1, { type: "text", text: "Hel" }),
			piece(1, { text: "l" }),
			piece(1, "o"),
			close(1),
			...ended("end_turn"),
		),
		SSE,
	),
	of(
		"a stream with arguments as an object",
		oslo,
		events(
			started,
			start(0, CALL),
			piece(0, { type: "input_json_delta", partial_json: { city: "Oslo" } }),
			close(0),
			...ended("tool_use"),
		),
		SSE,
	),
	of(
		"a stream without indexes",
		answer({ text: "Hello", calls: [["get_weather", { city: "Oslo" }]] }),
		events(
			started,
			...[start(undefined, TEXT), piece(undefined, hel), piece(undefined, lo), close()],
			...[start(undefined, CALL), piece(undefined, args("Oslo")), close()],
			...ended("tool_use"),
		),
		SSE,
	),
	of(
		"a stream without the ends of its blocks",
		osloAndRome,
		events(
			started,
			...[start(0, CALL), piece(0, args("Oslo"))],
			start(1, { ...CALL_2, input: { city: "Rome" } }),
			...ended("tool_use"),
		),
		SSE,
	),
	of(
		"a stream without indexes and ends of its blocks",
		osloAndRome,
		events(
			started,
			...[start(undefined, CALL), piece(undefined, args("Oslo"))],
			start(undefined, { ...CALL_2, input: { city: "Rome" } }),
			...ended("tool_use"),
		),
		SSE,
	),
	of(
		"a stream with pings, named and not",
		hello,
		HELLO.replaceAll(
			"event: content",
			'event: ping\ndata: {"type":"ping"}\n\ndata: {"type": "ping"}\n\nevent: content',
		),
		SSE,
	),
	of(
		"a stream without message_delta",
		hello,
		events(started, start(0, TEXT), piece(0, hel), piece(0, lo), close(0), { type: "message_stop" }),
		SSE,
	),
	of(
		"a stream with the reason beside the delta",
		answer({ text: "Hello", finish: "length" }),
		events(started, start(0, TEXT), piece(0, hel), piece(0, lo), close(0), {
			type: "message_delta",
			stop_reason: "max_tokens",
		}),
		SSE,
	),
	of(
		"a stream with the content in message_start",
		hello,
		events(
			{ type: "message_start", message: message([{ type: "text", text: "Hello" }]) },
			...ended("end_turn"),
		),
		SSE,
	),
	of("events parted by one line break", hello, byOneBreak(HELLO), SSE),
	of(
		"events without names, parted by one line break",
		hello,
		byOneBreak(HELLO.replaceAll(/^event: .*\n/gm, "")),
		SSE,
	),
];

const candidate = (content: unknown, fields: object = {}): object => ({
	candidates: [{ content, finishReason: "STOP", ...fields }],
	usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 9, totalTokenCount: 29 },
});
const parts = (...list: unknown[]) => ({ parts: list });
const unfinished = (...list: unknown[]) => candidate(parts(...list), { finishReason: undefined });

const GEMINI: readonly ProviderReply[] = [
	of("parts without a role", hello, candidate(parts({ text: "Hello" }))),
	of(
		"a call without args",
		answer({ calls: [["get_time", {}]] }),
		candidate(parts({ functionCall: { name: "get_time" } })),
	),
	of(
		"function_call in the case of Python",
		oslo,
		candidate(parts({ function_call: { name: "get_weather", args: { city: "Oslo" } } })),
	),
	of(
		"a reason in lower case",
		answer({ text: "Hel", finish: "length" }),
		candidate(parts({ text: "Hel" }), { finishReason: "max_tokens" }),
	),
	of(
		"finish_reason",
		answer({ text: "Hel", finish: "length" }),
		candidate(parts({ text: "Hel" }), { finishReason: undefined, finish_reason: "MAX_TOKENS" }),
	),
	of("content as a text", hello, candidate("Hello")),
	of("content as a list of parts", hello, candidate([{ text: "Hel" }, { text: "lo" }])),
	of("parts as texts", hello, candidate(parts("Hel", "lo"))),
	of("content with a text", hello, candidate({ role: "model", text: "Hello" })),
	of("one candidate, not in a list", hello, {
		candidates: { content: parts({ text: "Hello" }), finishReason: "STOP" },
	}),
	of("a reply in response", hello, { response: candidate(parts({ text: "Hello" })) }),
	of(
		"a stream with replies in response",
		hello,
		data({ response: unfinished({ text: "Hel" }) }, { response: candidate(parts({ text: "lo" })) }),
		SSE,
	),
	of(
		"a stream without candidates in an event",
		hello,
		data({ usageMetadata: null }, { candidates: null }, candidate(parts({ text: "Hello" }))),
		SSE,
	),
	of(
		"a stream without a reason, with [DONE]",
		hello,
		`${data(unfinished({ text: "Hello" }))}data: [DONE]\n\n`,
		SSE,
	),
	of(
		"a stream as a list of JSON",
		hello,
		JSON.stringify([unfinished({ text: "Hel" }), candidate(parts({ text: "lo" }))]),
	),
	of(
		"events parted by one line break",
		hello,
		byOneBreak(data(unfinished({ text: "Hel" }), candidate(parts({ text: "lo" })))),
		SSE,
	),
];

const LAST = { done: true, done_reason: "stop", prompt_eval_count: 20, eval_count: 9 };
const lines = (...list: object[]): string => list.map((value) => `${JSON.stringify(value)}\n`).join("");

const OLLAMA: readonly ProviderReply[] = [
	of("a message as a text", hello, { message: "Hello", ...LAST }),
	of("done as a text", hello, { message: { content: "Hello" }, ...LAST, done: "true" }),
	of("the reason of a length in capitals", answer({ text: "Hel", finish: "length" }), {
		message: { content: "Hel" },
		...LAST,
		done_reason: "LENGTH",
	}),
	of("OpenAI's form", hello, {
		choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
	}),
	of(
		"a stream without a last line, with [DONE]",
		hello,
		`${data({ message: { content: "Hello" }, done: false })}data: [DONE]\n\n`,
		SSE,
	),
	of(
		"a stream with empty lines",
		hello,
		lines({ message: { content: "Hello" }, done: false }, { message: { content: "" }, ...LAST }).replaceAll(
			"\n",
			"\n\n",
		),
		NDJSON,
	),
	of(
		"a stream with the texts as done",
		hello,
		lines({ message: { content: "Hel" } }, { message: { content: "lo" }, ...LAST }),
		NDJSON,
	),
	of(
		"events parted by one line break",
		hello,
		byOneBreak(data({ message: { content: "Hel" } }, { message: { content: "lo" }, ...LAST })),
		SSE,
	),
];

const item = (text: unknown) => ({
	...{ type: "message", id: "msg_1", role: "assistant", status: "completed" },
	content: [{ type: "output_text", text, annotations: [] }],
});
const callItem = (sent: unknown) => ({
	...{ type: "function_call", id: "fc_1", call_id: "call_1", name: "get_weather", arguments: sent },
	status: "completed",
});
const response = (output: unknown, fields: object = {}): object => ({
	...{ id: "resp_1", object: "response", created_at: 1_790_000_000, model: "gpt-6.1-sol" },
	...{ status: "completed", output, usage: { input_tokens: 20, output_tokens: 9, total_tokens: 29 } },
	...fields,
});
const completed = (output: unknown): Sent => ({ type: "response.completed", response: response(output) });
const textDelta = (delta: string): Sent => ({ type: "response.output_text.delta", delta });
const HELLO_RESPONSE = events(textDelta("Hel"), textDelta("lo"), completed([item("Hello")]));

const RESPONSES: readonly ProviderReply[] = [
	of("output as a text", hello, response("Hello")),
	of("output as one item", hello, response(item("Hello"))),
	of("items without types", hello, response([{ role: "assistant", content: "Hello" }])),
	of(
		"a part of the type text",
		hello,
		response([{ ...item(""), content: [{ type: "text", text: "Hello" }] }]),
	),
	of("output_text alone", hello, response([], { output_text: "Hello" })),
	of("a response in response", hello, { response: response([item("Hello")]) }),
	of("a status of null, and no usage", hello, response([item("Hello")], { status: null, usage: null })),
	of("a stream without response.created and without ids", hello, HELLO_RESPONSE, SSE),
	of("a stream without names", hello, HELLO_RESPONSE.replaceAll(/^event: .*\n/gm, ""), SSE),
	of(
		"a stream with the types as names alone",
		hello,
		HELLO_RESPONSE.replaceAll(/"type":"response\.[a-z_.]+",/g, ""),
		SSE,
	),
	of("a stream with output as a text", hello, events(completed("Hello")), SSE),
	of(
		"a stream with arguments as an object",
		oslo,
		events(
			{ type: "response.output_item.added", output_index: 0, item: callItem("") },
			{ type: "response.function_call_arguments.done", output_index: 0, arguments: { city: "Oslo" } },
			completed([callItem({ city: "Oslo" })]),
		),
		SSE,
	),
	of(
		"a stream whose events have item ids alone",
		osloAndRome,
		events(
			{ type: "response.output_item.added", item: callItem("") },
			{ type: "response.output_item.added", item: { ...callItem(""), id: "fc_2", call_id: "call_2" } },
			{ type: "response.function_call_arguments.delta", item_id: "fc_1", delta: '{"city":"Oslo"}' },
			{ type: "response.function_call_arguments.delta", item_id: "fc_2", delta: '{"city":"Rome"}' },
			completed([
				callItem('{"city":"Oslo"}'),
				{ ...callItem('{"city":"Rome"}'), id: "fc_2", call_id: "call_2" },
			]),
		),
		SSE,
	),
	of("response.done", hello, HELLO_RESPONSE.replaceAll("response.completed", "response.done"), SSE),
	of("events parted by one line break", hello, byOneBreak(HELLO_RESPONSE), SSE),
];

const NATIVE_USAGE = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };
const wrapped = (result: unknown) => ({ result, success: true, errors: [], messages: [] });
const called = (fields: object) => ({ ...fields, usage: NATIVE_USAGE });
const OPENAI_CALL = {
	...{ id: "call_1", type: "function" },
	function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
};
const chatReply = {
	choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
	usage: NATIVE_USAGE,
};

export const WORKERS_AI: readonly ProviderReply[] = [
	of("a reply", hello, chatReply),
	of("a reply in an envelope", hello, wrapped(chatReply)),
	of("the native form in an envelope", hello, wrapped({ response: "Hello", usage: NATIVE_USAGE })),
	of("the native form", hello, { response: "Hello", usage: NATIVE_USAGE }),
	of("a response with a text", hello, wrapped({ response: { content: "Hello" } })),
	of(
		"native calls",
		oslo,
		wrapped(called({ response: null, tool_calls: [{ name: "get_weather", arguments: { city: "Oslo" } }] })),
	),
	of("OpenAI's calls in the native form", oslo, wrapped(called({ response: "", tool_calls: [OPENAI_CALL] }))),
	of(
		"a stream of the native form",
		hello,
		`${data({ response: "Hel" }, { response: "lo" }, { response: "", usage: NATIVE_USAGE })}data: [DONE]\n\n`,
		SSE,
	),
	of(
		"a stream of native calls",
		oslo,
		`${data({ response: "", tool_calls: [{ name: "get_weather", arguments: { city: "Oslo" } }] })}data: [DONE]\n\n`,
		SSE,
	),
	of(
		"events parted by one line break",
		hello,
		byOneBreak(`${data({ response: "Hel" }, { response: "lo" })}data: [DONE]\n\n`),
		SSE,
	),
];

export const PROVIDER_FORMS = {
	anthropic: ANTHROPIC,
	gemini: GEMINI,
	ollama: OLLAMA,
	responses: RESPONSES,
	"workers-ai": WORKERS_AI,
};
