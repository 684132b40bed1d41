/** Replies in forms that public reports describe, with the answers that a client has to see. */
import {
	calls,
	chatReply,
	choices,
	DONE,
	delta,
	finish,
	HEADING,
	line,
	USAGE,
	usage,
} from "./chat-replies.ts";
import { answer, type ExpectedAnswer, hello, OSLO, oslo, osloAndRome, ROME } from "./expected-answer.ts";

export interface OddReply {
	name: string;
	body: string;
	type: string;
	answer: Partial<ExpectedAnswer>;
}

export interface OddFailure extends Omit<OddReply, "answer"> {
	status: number;
	/** In the caller's error. */
	sentence: string;
	/** Anthropic, OpenAI's Responses and Gemini answer 400 to a prompt that is too long. */
	statusOfDialects?: number;
}

const NOW: [string, object] = ["get_time", {}];

const stream = (name: string, expected: ExpectedAnswer, ...events: string[]): OddReply => ({
	name,
	body: [...events, usage, DONE].join(""),
	type: "text/event-stream",
	answer: expected,
});

const of = (id: string | undefined, index: number | undefined, name?: string, args?: unknown): object => ({
	...(index !== undefined && { index }),
	...(id !== undefined && { id }),
	type: "function",
	function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});

const ROME_TEXT = '{"city":"Rome"}';

export const ODD_STREAMS: readonly OddReply[] = [
	stream(
		"parallel calls with the index 0, each whole",
		osloAndRome,
		calls(of("a", 0, "get_weather", '{"city":"Oslo"}')),
		calls(of("b", 0, "get_weather", '{"city":"Rome"}')),
		finish("tool_calls"),
	),
	stream(
		"parallel calls with the index 0, in one chunk",
		osloAndRome,
		calls(of("a", 0, "get_weather", '{"city":"Oslo"}'), of("b", 0, "get_weather", '{"city":"Rome"}')),
		finish("stop"),
	),
	stream(
		"parallel calls with the index 0, in pieces",
		osloAndRome,
		calls(of("a", 0, "get_weather", "")),
		calls(of(undefined, 0, undefined, '{"city":')),
		calls(of(undefined, 0, undefined, '"Oslo"}')),
		calls(of("b", 0, "get_weather", "")),
		calls(of(undefined, 0, undefined, '{"city":"Rome"}')),
		finish("tool_calls"),
	),
	stream(
		"parallel calls with the index 0 and no ids",
		osloAndRome,
		calls(of(undefined, 0, "get_weather", '{"city":"Oslo"}')),
		calls(of(undefined, 0, "get_weather", '{"city":"Rome"}')),
		finish("tool_calls"),
	),
	stream(
		"no index, after the role and a text",
		answer({ text: "Let me look.", calls: [OSLO] }),
		delta({ role: "assistant", content: "" }),
		delta({ content: "Let me look." }),
		calls(of("a", undefined, "get_weather", '{"city":')),
		calls(of(undefined, undefined, undefined, '"Oslo"}')),
		finish("tool_calls"),
	),
	stream(
		"no index and the id in each piece",
		osloAndRome,
		calls(of("a", undefined, "get_weather", '{"city":')),
		calls(of("b", undefined, "get_weather", '{"city":')),
		calls(of("a", undefined, undefined, '"Oslo"}')),
		calls(of("b", undefined, undefined, '"Rome"}')),
		finish("tool_calls"),
	),
	stream(
		"indexes with gaps, as text",
		osloAndRome,
		calls({ ...of("a", undefined, "get_weather", '{"city":"Oslo"}'), index: "1" }),
		calls({ ...of("b", undefined, "get_weather", '{"city":"Rome"}'), index: "4" }),
		finish("tool_calls"),
	),
	stream(
		"an index of null and of -1",
		osloAndRome,
		calls({ ...of("a", undefined, "get_weather", '{"city":"Oslo"}'), index: null }),
		calls({ ...of("b", undefined, "get_weather", '{"city":"Rome"}'), index: -1 }),
		finish("tool_calls"),
	),
	stream(
		"the arguments at another index than the name",
		oslo,
		calls(of("a", 0, "get_weather", "")),
		calls(of(undefined, 1, undefined, '{"city":"Oslo"}')),
		finish("tool_calls"),
	),
	stream(
		"id and name in each piece",
		oslo,
		calls(of("a", 0, "get_weather", '{"city"')),
		calls(of("a", 0, "get_weather", ':"Oslo"}')),
		finish("tool_calls"),
	),
	stream(
		"another id in each piece",
		oslo,
		calls(of("a1", 0, "get_weather", "")),
		calls(of("a2", 0, undefined, '{"city":')),
		calls(of("a3", 0, undefined, '"Oslo"}')),
		finish("tool_calls"),
	),
	stream(
		"the id before the name, the name in two pieces",
		oslo,
		calls(of("a", 0)),
		calls(of(undefined, 0, "get_")),
		calls(of(undefined, 0, "weather")),
		calls(of(undefined, 0, undefined, '{"city":"Oslo"}')),
		finish("tool_calls"),
	),
	stream(
		"the arguments before the name",
		oslo,
		calls(of("a", 0, undefined, '{"city":')),
		calls(of("a", 0, "get_weather", '"Oslo"}')),
		finish("tool_calls"),
	),
	stream(
		"the same id for two calls",
		osloAndRome,
		calls(
			of("call_1", 0, "get_weather", '{"city":"Oslo"}'),
			of("call_1", 1, "get_weather", '{"city":"Rome"}'),
		),
		finish("tool_calls"),
	),
	stream(
		"arguments as objects, null and none",
		answer({ calls: [OSLO, NOW, ["get_time", {}]] }),
		calls(of("a", 0, "get_weather", { city: "Oslo" })),
		calls(of("b", 1, "get_time", null)),
		calls(of("c", 2, "get_time")),
		finish("tool_calls"),
	),
	stream(
		"arguments that are encoded twice, whole and in pieces",
		answer({ calls: [OSLO, ROME, NOW] }),
		calls(of("a", 0, "get_weather", JSON.stringify('{"city":"Oslo"}'))),
		calls(of("b", 1, "get_weather", "")),
		calls(of(undefined, 1, undefined, '"{\\"city')),
		calls(of(undefined, 1, undefined, '\\":\\"Rome\\"}"')),
		calls(of("c", 2, "get_time", '"{}"')),
		finish("tool_calls"),
	),
	stream(
		"parallel calls with the index 0, with arguments that are encoded twice",
		osloAndRome,
		calls(of(undefined, 0, "get_weather", JSON.stringify('{"city":"Oslo"}'))),
		calls(of(undefined, 0, "get_weather", JSON.stringify('{"city":"Rome"}'))),
		finish("tool_calls"),
	),
	...["[]", []].map((none) =>
		stream(
			`no arguments as the ${typeof none} []`,
			answer({ calls: [NOW] }),
			calls(of("a", 0, "get_time", none)),
			finish("tool_calls"),
		),
	),
	stream(
		"no arguments as [], in pieces",
		answer({ calls: [NOW] }),
		calls(of("a", 0, "get_time", "[")),
		calls(of(undefined, 0, undefined, "]")),
		finish("tool_calls"),
	),
	...["input", "parameters"].flatMap((field) =>
		[{ city: "Oslo" }, '{"city":"Oslo"}'].map((sent) =>
			stream(
				`arguments in ${field} as ${typeof sent}`,
				osloAndRome,
				calls({ index: 0, id: "a", type: "function", function: { name: "get_weather", [field]: sent } }),
				calls({ index: 1, id: "b", type: "tool_use", name: "get_weather", [field]: { city: "Rome" } }),
				finish("tool_calls"),
			),
		),
	),
	stream(
		"a call as custom",
		oslo,
		calls({ index: 0, id: "a", type: "custom", custom: { name: "get_weather", input: '{"city":"Oslo"}' } }),
		finish("tool_calls"),
	),
	stream(
		"{} before the arguments, and all of them once more",
		oslo,
		calls(of("a", 0, "get_weather", "{}")),
		calls(of(undefined, 0, undefined, '{"city":"Oslo"}')),
		calls(of("a", 0, "get_weather", '{"city":"Oslo"}')),
		finish("tool_calls"),
	),
	...[[ROME_TEXT], ['{"city":', '"Rome"}']].map((pieces) =>
		stream(
			`the arguments of the next call in ${pieces.length} pieces, without its name`,
			osloAndRome,
			calls(of("a", 0, "get_weather", "")),
			calls(of(undefined, 0, "", '{"city":"Oslo"}')),
			...pieces.map((piece) => calls(of(undefined, 0, "", piece))),
			finish("tool_calls"),
		),
	),
	stream(
		"an empty piece after the call, and a call without a name",
		oslo,
		calls(of("a", 0, "get_weather", '{"city":"Oslo"}')),
		calls(of("", 0, "", "")),
		calls({ index: 1, function: {} }),
		finish("tool_calls"),
	),
	stream(
		"function_call",
		oslo,
		delta({ role: "assistant", content: null, function_call: { name: "get_weather", arguments: "" } }),
		delta({ function_call: { arguments: '{"city":"Oslo"}' } }),
		finish("function_call"),
	),
	stream(
		"a flat call, not in a list, in the chunk with the end",
		oslo,
		choices({
			index: 0,
			delta: { tool_calls: { name: "functions.get_weather", arguments: { city: "Oslo" } } },
			finish_reason: "eos",
		}),
	),
	...["stop", "eos", "error", "function_call", "tool_use", "STOP"].map((reason) =>
		stream(
			`a call with the finish reason ${reason}`,
			oslo,
			calls(of("a", 0, "get_weather", '{"city":"Oslo"}')),
			finish(reason),
		),
	),
	stream(
		"a call without a finish reason",
		oslo,
		calls(of("a", 0, "get_weather", '{"city":"Oslo"}')),
		finish(null),
	),
	stream(
		"a finish reason of tool calls without a call",
		hello,
		delta({ content: "Hello" }),
		finish("tool_calls"),
	),
	stream("the finish reason eos_token", hello, delta({ content: "Hello" }), finish("eos_token")),
	...["MAX_TOKENS", "max_output_tokens", "max_length", "max_new_tokens"].map((reason) =>
		stream(
			`the finish reason ${reason}`,
			answer({ text: "Hello", finish: "length" }),
			delta({ content: "Hello" }),
			finish(reason),
		),
	),
	...["data", "result"].map((field) =>
		stream(
			`chunks in ${field}`,
			hello,
			line({ [field]: { ...HEADING, choices: [{ index: 0, delta: { content: "Hello" } }] } }),
			line({ [field]: { ...HEADING, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } }),
		),
	),
	stream(
		"events of null, of an empty text and of other words that keep the connection open",
		hello,
		"data: null\n\n",
		'data: ""\n\n',
		"data: keep-alive\n\n",
		delta({ content: "Hello" }),
		"data: null\n\n",
		finish("stop"),
	),
	stream("no finish reason", hello, delta({ content: "Hello" })),
	stream(
		"an empty finish reason until the end",
		hello,
		choices({ index: 0, delta: { content: "Hello" }, finish_reason: "" }),
		finish("stop"),
	),
	stream(
		"content as parts with thinking",
		answer({ text: "Hello", reasoning: "Hm." }),
		delta({ role: "assistant", content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
		delta({ content: [{ type: "text", text: "Hel" }] }),
		delta({ content: "lo" }),
		finish("stop"),
	),
	stream(
		"reasoning_details alone",
		answer({ text: "Hello", reasoning: "Hm." }),
		delta({ reasoning_details: [{ type: "reasoning.text", text: "Hm." }] }),
		delta({ content: "Hello" }),
		finish("stop"),
	),
	stream(
		"reasoning as thinking",
		answer({ text: "Hello", reasoning: "Hm." }),
		delta({ role: "assistant", content: null, thinking: "Hm." }),
		delta({ content: "Hello" }),
		finish("stop"),
	),
	stream(
		"no delta, a delta of null, and a text in its place",
		hello,
		choices({ index: 0, finish_reason: null }),
		choices({ index: 0, delta: null, finish_reason: null }),
		choices({ index: 0, text: "Hello", finish_reason: null }),
		finish("stop"),
	),
	stream(
		"the complete message once more in the last chunk",
		hello,
		delta({ role: "assistant", content: "Hello" }),
		line({
			...HEADING,
			object: "chat.completion",
			choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
			usage: USAGE,
		}),
	),
	stream(
		"events that are no chunks",
		hello,
		": ping\n\n",
		"event: ping\ndata: {}\n\n",
		line({ type: "ping" }),
		"data:\n\n",
		line({
			id: "",
			object: "",
			created: 0,
			model: "",
			choices: [],
			prompt_filter_results: [{ prompt_index: 0 }],
		}),
		`event: message\nid: 1\nretry: 100\n${delta({ content: "Hel" })}`,
		`data:${JSON.stringify({ ...HEADING, choices: [{ index: 0, delta: { content: "lo" } }] })}\r\n\r\n`,
		finish("stop"),
		line({ ...HEADING, choices: null, usage: USAGE }),
		line({ ...HEADING, usage: USAGE }),
		line({ id: "chatcmpl-7", x_groq: { id: "req_1", usage: USAGE } }),
	),
	stream(
		"fields of other types",
		hello,
		line({ id: 7, object: null, created: "1790000000", model: null, choices: [], usage: [] }),
		line({
			...HEADING,
			id: null,
			choices: [{ index: "0", delta: { content: "Hel" }, finish_reason: false }],
			usage: "none",
		}),
		choices({ index: 0, delta: { content: "lo", tool_calls: {}, refusal: null }, finish_reason: 0 }),
		choices({ index: 0, delta: [], finish_reason: "stop", logprobs: "none" }),
	),
	{
		...stream("no [DONE]", hello),
		body: delta({ content: "Hello" }) + finish("stop"),
	},
	{
		...stream("[DONE] twice, and events after it", hello),
		body: delta({ content: "Hello" }) + finish("stop") + DONE + DONE + delta({ content: "!" }),
	},
	{
		...stream("data in several lines", hello),
		body: `${delta({ content: "Hello" }).replace(',"choices"', ',\ndata: "choices"')}${finish("stop")}${DONE}`,
	},
	{
		...stream("lines that end with CR", hello),
		body: `${delta({ content: "Hello" })}${finish("stop")}${DONE}`.replaceAll("\n", "\r"),
	},
	stream(
		"an end in an event of its own, before the text ends",
		hello,
		delta({ content: "Hel" }),
		choices({ index: 0, delta: { content: "lo" }, finish_reason: "stop" }),
		choices({ index: 0, delta: { content: "" }, finish_reason: "stop" }),
	),
	{
		...stream("a byte order mark and CR LF", hello, delta({ content: "Hello" }), finish("stop")),
		body: `\uFEFF${[delta({ content: "Hello" }), finish("stop"), usage, DONE].join("").replaceAll("\n", "\r\n")}`,
	},
	...["text/plain", "application/json", "application/octet-stream", "application/x-ndjson"].map((type) => ({
		...stream(`events as ${type}`, oslo, calls(of("a", 0, "get_weather", '{"city":"Oslo"}')), finish("stop")),
		type,
	})),
	{
		...stream("JSON lines", oslo),
		body: [
			{
				...HEADING,
				choices: [{ index: 0, delta: { tool_calls: [of("a", 0, "get_weather", { city: "Oslo" })] } }],
			},
			{ ...HEADING, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: USAGE },
		]
			.map((value) => `${JSON.stringify(value)}\n`)
			.join(""),
		type: "application/x-ndjson",
	},
];

const value = (name: string, expected: ExpectedAnswer, choice: object, fields: object = {}): OddReply => ({
	name,
	body: chatReply(choice, fields),
	type: "application/json",
	answer: expected,
});

export const ODD_VALUES: readonly OddReply[] = [
	value("content as parts with thinking", answer({ text: "Hello", reasoning: "Hm." }), {
		message: {
			role: "assistant",
			content: [
				{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
				{ type: "text", text: "Hello" },
			],
		},
	}),
	value("content as an object", hello, {
		message: { role: "assistant", content: { type: "text", text: "Hello" } },
	}),
	value("content as a document", answer({ text: '{"city":"Oslo","degrees":4}' }), {
		message: { role: "assistant", content: { city: "Oslo", degrees: 4 } },
	}),
	value("no message", answer({ finish: "length" }), { finish_reason: "length" }),
	value("a message of null", answer({ finish: "length" }), { message: null, finish_reason: "length" }),
	value("a text in the place of the message", hello, { text: "Hello" }),
	value("a delta in the place of the message", hello, { delta: { content: "Hello" } }),
	value("reasoning_details alone", answer({ text: "Hello", reasoning: "Hm." }), {
		message: { content: "Hello", reasoning_details: [{ type: "reasoning.summary", summary: "Hm." }] },
	}),
	...["stop", "eos", "error", "function_call", null].map((finish_reason) =>
		value(`a call with the finish reason ${finish_reason}`, oslo, {
			message: { content: "", tool_calls: [of("a", undefined, "get_weather", '{"city":"Oslo"}')] },
			finish_reason,
		}),
	),
	value(
		"calls without ids, with arguments as an object, null and none",
		answer({ calls: [OSLO, NOW, NOW] }),
		{
			message: {
				tool_calls: [
					of(undefined, 0, "get_weather", { city: "Oslo" }),
					of("", 0, "get_time", null),
					of(undefined, 0, "get_time"),
				],
			},
		},
	),
	value("calls as parts of the content", answer({ text: "Hello", calls: [OSLO, NOW] }), {
		message: {
			content: [
				{ type: "text", text: "Hello" },
				{ type: "tool_use", id: "a", name: "get_weather", input: { city: "Oslo" } },
				{ type: "tool_use", id: "b", name: "get_time", input: {} },
			],
		},
		finish_reason: "tool_use",
	}),
	value("arguments in input and parameters, and none as []", answer({ calls: [OSLO, ROME, NOW] }), {
		message: {
			tool_calls: [
				{ id: "a", type: "tool_use", name: "get_weather", input: { city: "Oslo" } },
				{ id: "b", type: "function", function: { name: "get_weather", parameters: { city: "Rome" } } },
				of("c", 2, "get_time", "[]"),
			],
		},
	}),
	value("calls with the same id, one without a name", osloAndRome, {
		message: {
			tool_calls: [
				of("call", 0, "get_weather", '{"city":"Oslo"}'),
				of("call", 0, "get_weather", '{"city":"Rome"}'),
				{ id: "x", function: { arguments: "" } },
			],
		},
	}),
	value("arguments that are encoded twice", answer({ calls: [OSLO, NOW] }), {
		message: {
			tool_calls: [
				of("a", 0, "get_weather", JSON.stringify('{"city":"Oslo"}')),
				of("b", 1, "get_time", '"{}"'),
			],
		},
	}),
	value(
		"fields of other types",
		hello,
		{
			index: "0",
			message: { role: null, content: "Hello", tool_calls: {} },
			finish_reason: 0,
			logprobs: "none",
		},
		{ id: 7, created: "1790000000", model: null, object: 1, system_fingerprint: 3, usage: [] },
	),
	value("a usage of text", hello, { message: { content: "Hello" } }, { usage: "29" }),
	value("no calls in the place of calls", hello, {
		message: { content: "Hello", tool_calls: [null, "x", {}] },
	}),
	value("function_call", oslo, {
		message: { content: null, function_call: { name: "get_weather", arguments: '{"city":"Oslo"}' } },
		finish_reason: "function_call",
	}),
	value("the finish reason model_length", answer({ text: "Hello", finish: "length" }), {
		message: { content: "Hello" },
		finish_reason: "model_length",
	}),
	{ ...value("JSON as text/plain", hello, { message: { content: "Hello" } }), type: "text/plain" },
	{
		...value("JSON as text/event-stream", hello, { message: { content: "Hello" } }),
		type: "text/event-stream",
	},
	{
		...value("JSON after empty lines", hello, {}),
		body: `\n\n\n${value("", hello, { message: { content: "Hello" } }).body}`,
	},
];

const failure = (
	name: string,
	body: unknown,
	status: number,
	sentence: string,
	type = "application/json",
): OddFailure => ({
	name,
	body: typeof body === "string" ? body : JSON.stringify(body),
	type,
	status,
	sentence,
});

const UNREADABLE = "The backend 'engine' answered with something that is not a reply of /chat/completions";
const SSE = "text/event-stream";

export const ODD_FAILURES: readonly OddFailure[] = [
	failure("no choices", { ...HEADING, choices: [], usage: USAGE }, 502, UNREADABLE),
	failure("choices of null", { ...HEADING, choices: null }, 502, UNREADABLE),
	failure("an empty body", "", 502, UNREADABLE),
	failure("a list", [], 502, UNREADABLE),
	failure("HTML", "<html><body>Welcome</body></html>", 502, UNREADABLE, "text/html"),
	failure(
		"MiniMax's error beside choices of null",
		{ choices: null, base_resp: { status_code: 1002, status_msg: "rate limit" } },
		429,
		"Capacity temporarily exceeded",
	),
	failure(
		"an error of text",
		{ error: "model is overloaded, try again" },
		429,
		"Capacity temporarily exceeded",
	),
	failure(
		"an error in a choice",
		{
			...HEADING,
			choices: [
				{ index: 0, message: {}, finish_reason: "error", error: { code: 429, message: "Rate limited" } },
			],
		},
		429,
		"Capacity temporarily exceeded",
	),
	failure(
		"a failed answer",
		{ ...HEADING, choices: [{ index: 0, message: { content: "Hel" }, finish_reason: "error" }] },
		500,
		"The backend 'engine' could not finish its answer",
	),
	failure(
		"Google's list with an error",
		[{ error: { code: 400, message: "Bad schema", status: "INVALID_ARGUMENT" } }],
		400,
		"Bad schema",
	),
	{
		...failure(
			"an error event, first",
			`event: error\ndata: {"message":"This model's maximum context length is 8192 tokens","code":400}\n\n`,
			413,
			"maximum context length is 8192",
			SSE,
		),
		statusOfDialects: 400,
	},
	failure(
		"an error event of text",
		"event: error\ndata: out of memory\n\n",
		500,
		"The backend 'engine' failed",
		SSE,
	),
	failure(
		"an error in the data, first",
		'data: {"error":{"message":"slow down","type":"rate_limit_error"}}\n\n',
		429,
		"Capacity temporarily exceeded",
		SSE,
	),
	failure(
		"a detail in the data, first",
		'data: {"detail":[{"loc":["body"],"msg":"bad temperature"}]}\n\n',
		500,
		"The backend 'engine' failed",
		SSE,
	),
];
