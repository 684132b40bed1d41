/** Answers in places and under names that are not OpenAI's, whole and as events, and replies in which nothing can be read. */
import type { OddFailure, OddReply } from "./cases.ts";
import { chatReply, choices, DONE, delta, finish, HEADING, line, USAGE } from "./chat-replies.ts";
import { answer, type ExpectedAnswer, hello, oslo } from "./expected-answer.ts";

const SSE = "text/event-stream";
const JSON_TYPE = "application/json";

const form = (name: string, expected: ExpectedAnswer, body: unknown, type = JSON_TYPE): OddReply => ({
	name,
	answer: expected,
	body: typeof body === "string" ? body : JSON.stringify(body),
	type,
});
const events = (name: string, expected: ExpectedAnswer, ...list: string[]): OddReply =>
	form(name, expected, list.join(""), SSE);

const chunk = (fields: object, finish_reason: string | null = null): object => ({
	...HEADING,
	choices: [{ index: 0, delta: fields, finish_reason }],
});
const CHUNKS = [chunk({ role: "assistant", content: "Hel" }), chunk({ content: "lo" }), chunk({}, "stop")];
const HELLO = delta({ role: "assistant", content: "Hello" });
const END = finish("stop") + DONE;
const called = (text: string) => ({
	index: 0,
	id: "a",
	type: "function",
	function: { name: "get_weather", arguments: text },
});
const OSLO_CALL = called('{"city":"Oslo"}');
const FENCED = '```json\n{"city":"Oslo"}\n```';
const MESSAGE = { role: "assistant", content: "Hello" };
const OLLAMA = { model: "llama4", created_at: "2026-11-27T00:00:00Z" };
const COUNTS = { done: true, done_reason: "stop", prompt_eval_count: 20, eval_count: 9 };

export const ODD_FORMS: readonly OddReply[] = [
	form("a list of chunks", hello, CHUNKS),
	form("a list of chunks without an end", hello, CHUNKS.slice(0, 2)),
	events("a list of chunks in one event", hello, line(CHUNKS), DONE),
	events("Data: in capitals", hello, (HELLO + END).replaceAll("data:", "Data:")),
	events("DATA: before a space", hello, (HELLO + END).replaceAll("data: ", "DATA : ")),
	events("a space before data:", hello, (HELLO + END).replaceAll("data:", " data:")),
	events("data: twice", hello, (HELLO + END).replaceAll("data:", "data: data:")),
	events("events parted by one line break", hello, CHUNKS.map(line).join("").replaceAll("\n\n", "\n"), DONE),
	events("events parted by CRLF", hello, (HELLO + END).replaceAll("\n\n", "\r\n")),
	form(
		"calls beside the message",
		oslo,
		chatReply({ message: { role: "assistant" }, tool_calls: [OSLO_CALL] }),
	),
	events(
		"calls beside the delta",
		oslo,
		choices({ index: 0, delta: { role: "assistant" }, tool_calls: [OSLO_CALL] }),
		finish("tool_calls"),
		DONE,
	),
	form("messages as a list", hello, chatReply({ messages: [MESSAGE] })),
	form(
		"messages with those of the user",
		answer({ text: "Hello there" }),
		chatReply({
			messages: [
				{ role: "user", content: "Weather?" },
				{ role: "assistant", content: "Hello" },
				{ role: "assistant", content: " there" },
			],
		}),
	),
	form("a message without choices", hello, { ...HEADING, message: MESSAGE, usage: USAGE }),
	form(
		"finishReason",
		answer({ text: "Hel", finish: "length" }),
		chatReply({ message: { ...MESSAGE, content: "Hel" }, finish_reason: undefined, finishReason: "length" }),
	),
	events(
		"finishReason in a stream",
		answer({ text: "Hel", finish: "length" }),
		choices({ index: 0, delta: { content: "Hel" } }),
		choices({ index: 0, delta: {}, finishReason: "length" }),
		DONE,
	),
	events(
		"finish_reason inside of the delta",
		answer({ text: "Hel", finish: "length" }),
		choices({ index: 0, delta: { content: "Hel" } }),
		choices({ index: 0, delta: { finish_reason: "length" } }),
		DONE,
	),
	form(
		"finish_reason inside of the message",
		answer({ text: "Hel", finish: "length" }),
		chatReply({ message: { content: "Hel", finish_reason: "length" }, finish_reason: undefined }),
	),
	form("a text as {value}", hello, chatReply({ message: { content: { value: "Hello", annotations: [] } } })),
	form(
		"parts with a text as {value}",
		hello,
		chatReply({ message: { content: [{ type: "text", text: { value: "Hello", annotations: [] } }] } }),
	),
	events("a delta with a text as {value}", hello, delta({ content: { value: "Hello" } }), END),
	form("arguments in a code fence", oslo, chatReply({ message: { tool_calls: [called(FENCED)] } })),
	events("arguments in a code fence, streamed", oslo, delta({ tool_calls: [called(FENCED)] }), END),
	events(
		"arguments in a code fence, in pieces",
		oslo,
		delta({ tool_calls: [called("``")] }),
		...['`json\n{"ci', 'ty":"Oslo"', "}\n`", "``"].map((text) =>
			delta({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
		),
		END,
	),
	form("Ollama's own form", hello, { ...OLLAMA, message: MESSAGE, ...COUNTS }),
	form("Ollama's own calls", oslo, {
		...OLLAMA,
		message: {
			role: "assistant",
			content: "",
			tool_calls: [{ function: { name: "get_weather", arguments: { city: "Oslo" } } }],
		},
		...COUNTS,
	}),
	form(
		"Ollama's own stream",
		hello,
		[
			{ ...OLLAMA, message: { role: "assistant", content: "Hel" }, done: false },
			{ ...OLLAMA, message: { role: "assistant", content: "lo" }, done: false },
			{ ...OLLAMA, message: { role: "assistant", content: "" }, ...COUNTS },
		]
			.map((value) => `${JSON.stringify(value)}\n`)
			.join(""),
		"application/x-ndjson",
	),
	form("Ollama's /api/generate", hello, { ...OLLAMA, response: "Hello", ...COUNTS }),
	events(
		"llama.cpp's own stream",
		hello,
		line({ content: "Hello", stop: false }),
		line({ content: "", stop: true }),
	),
	form("a text under response", hello, { response: "Hello" }),
	events("texts under response", hello, line({ response: "Hel" }), line({ response: "lo" }), DONE),
	form("generated_text in a list", hello, [{ generated_text: "Hello" }]),
	form("choices in result", hello, { success: true, result: JSON.parse(chatReply({ message: MESSAGE })) }),
	form("choices in response", hello, { response: JSON.parse(chatReply({ message: MESSAGE })) }),
	events(
		"pieces in message",
		hello,
		choices({ index: 0, message: { role: "assistant", content: "Hel" } }),
		choices({ index: 0, message: { role: "assistant", content: "lo" } }),
		END,
	),
	form("an empty answer", answer({}), chatReply({ message: { role: "assistant", content: "" } })),
	events("an empty answer, streamed", answer({}), delta({ role: "assistant", content: "" }), END),
];

const failure = (
	name: string,
	status: number,
	sentence: string,
	body: unknown,
	type = JSON_TYPE,
): OddFailure => ({
	name,
	status,
	sentence,
	body: typeof body === "string" ? body : JSON.stringify(body),
	type,
});
const BUSY = "Capacity temporarily exceeded";
const UNREADABLE = "The backend 'engine' answered with something that is not";

export const FORM_FAILURES: readonly OddFailure[] = [
	failure("statusCode 429", 429, BUSY, { statusCode: 429, message: "Too many", error: "Too Many Requests" }),
	failure("statusCode 429 without a text", 429, BUSY, { statusCode: 429 }),
	failure("status_code 429", 429, BUSY, { status_code: 429, detail: "slow down" }),
	failure("status 429", 429, BUSY, { status: 429, title: "Too many" }),
	failure("error_code 429", 429, BUSY, { error_code: 429, error_msg: "limit" }),
	failure("error_code of text", 429, BUSY, { error_code: "rate_limit_exceeded", error_message: "limit" }),
	failure("errorCode 400", 400, "Bad schema", { errorCode: 400, errorMessage: "Bad schema" }),
	failure("fault", 429, BUSY, {
		fault: { faultstring: "Rate limit", detail: { errorcode: "policies.ratelimit.QuotaViolation" } },
	}),
	failure("fault with a code", 429, BUSY, { fault: { code: 429, message: "limit" } }),
	failure("a code beside no choices", 429, BUSY, { choices: [], code: 429, message: "limit" }),
	failure("a status in the error", 429, BUSY, { error: { statusCode: 429, message: "limit" } }),
	failure("statusCode 429 in an event", 429, BUSY, line({ statusCode: 429, message: "limit" }), SSE),
	failure("fault in an event", 429, BUSY, line({ fault: { code: "429", faultstring: "limit" } }) + DONE, SSE),
	...[
		{ role: "assistant", answer: "Hello" },
		{ role: "assistant", content: "", answer: "Hello" },
		{ role: "assistant" },
		{ contents: [{ words: "Hello" }] },
	].map((message) =>
		failure(`a message ${JSON.stringify(message)}`, 502, UNREADABLE, chatReply({ message })),
	),
	failure("a choice without a message", 502, UNREADABLE, chatReply({ result: "Hello" })),
	failure(
		"deltas with another field",
		502,
		UNREADABLE,
		choices({ delta: { words: "Hello" }, finish_reason: "stop" }),
		SSE,
	),
	failure("lists of other objects", 502, UNREADABLE, [{ words: "Hello" }, { words: "there" }]),
];
