/** Replies whose bytes, status or form is odd, with what every client has to see: a good answer, or a failure of the right class. */
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
import { answer, type ExpectedAnswer, hello, oslo } from "./expected-answer.ts";

interface WireReply {
	name: string;
	respond(): Response;
}

export interface WireAnswer extends WireReply {
	answer: ExpectedAnswer;
}

export interface WireFailure extends WireReply {
	/** Of the answer, if the caller has received nothing yet. */
	status: number;
	sentence: string;
	/** In a stream that has begun. */
	lateSentence?: string;
}

const END = finish("stop") + usage + DONE;
const HELLO = delta({ role: "assistant", content: "Hello" });

const SSE = "text/event-stream";
const encoder = new TextEncoder();

interface Wire {
	/** `null`: none. */
	type?: string | null;
	status?: number;
	headers?: Record<string, string>;
	/** The connection breaks after the last piece. */
	breaks?: true;
}

/** Each piece is one read of the gateway. */
function respond(pieces: readonly (string | Uint8Array)[], { type = SSE, breaks, ...init }: Wire): Response {
	const left = [...pieces];
	const body = new ReadableStream<Uint8Array>({
		pull(controller) {
			const piece = left.shift();
			if (piece !== undefined) controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
			else if (breaks) controller.error(new Error("The connection was reset"));
			else controller.close();
		},
	});
	return new Response(body, { ...init, headers: { ...(type && { "content-type": type }), ...init.headers } });
}

const JSON_TYPE = { type: "application/json" };
const HELLO_MESSAGE = { message: { role: "assistant", content: "Hello" } };
const HELLO_REPLY = chatReply(HELLO_MESSAGE);

const shown = (
	name: string,
	expected: ExpectedAnswer,
	pieces: readonly (string | Uint8Array)[],
	wire: Wire = {},
): WireAnswer => ({ name, answer: expected, respond: () => respond(pieces, wire) });

const OSLO_TEXT = '{"city":"Oslo"}';
const oneByteEach = (text: string) => [...encoder.encode(text)].map((byte) => new Uint8Array([byte]));
/** The event of a delta whose content is this JSON text. */
const contentEvent = (json: string): string => delta({ content: "X" }).replace('"X"', json);

export const WIRE_ANSWERS: readonly WireAnswer[] = [
	shown("no role in a stream", hello, [delta({ content: "Hello" }), END]),
	shown("no role before a call", oslo, [
		calls({ index: 0, id: "a", function: { name: "get_weather", arguments: OSLO_TEXT } }),
		finish("tool_calls"),
	]),
	shown("content_filter alone", answer({ finish: "content_filter" }), [
		finish("content_filter"),
		usage,
		DONE,
	]),
	shown("content_filter after a text, no role", answer({ text: "Hel", finish: "content_filter" }), [
		delta({ content: "Hel" }),
		finish("content_filter"),
		DONE,
	]),
	shown(
		"content_filter with null content",
		answer({ finish: "content_filter" }),
		[chatReply({ message: { role: "assistant", content: null }, finish_reason: "content_filter" })],
		JSON_TYPE,
	),
	shown("the role of another API, then null", hello, [
		delta({ role: "model", content: "Hel" }),
		delta({ role: null, content: "lo" }),
		END,
	]),
	shown("choices with the index 1 only", hello, [
		delta({ role: "assistant", content: "Hello" }, 1),
		finish("stop", 1),
		usage,
		DONE,
	]),
	shown("a whole choice with the index 1", hello, [chatReply({ index: 1, ...HELLO_MESSAGE })], JSON_TYPE),
	shown("a second choice that was not requested", hello, [
		choices({ index: 0, delta: { content: "Hello" } }, { index: 1, delta: { content: "Bye" } }),
		delta({ content: "!" }, 1),
		finish("stop"),
		finish("stop", 1),
		usage,
		DONE,
	]),
	shown(
		"a second whole choice that was not requested",
		hello,
		[
			JSON.stringify({
				...HEADING,
				choices: ["Hello", "Bye"].map((content, index) => ({
					index,
					message: { content },
					finish_reason: "stop",
				})),
			}),
		],
		JSON_TYPE,
	),
	shown("choices that are no list", hello, [
		line({ ...HEADING, choices: { index: 0, delta: { content: "Hello" } } }),
		END,
	]),
	shown(
		"whole choices that are no list",
		hello,
		[JSON.stringify({ ...HEADING, choices: { index: 0, ...HELLO_MESSAGE, finish_reason: "stop" } })],
		JSON_TYPE,
	),
	...["[done]", '"[DONE]"', "stream finished"].map((mark) =>
		shown(`the end ${mark}`, hello, [HELLO, finish("stop"), usage, `data: ${mark}\n\n`]),
	),
	shown("[DONE] without its blank line", hello, [HELLO, finish("stop"), usage, "data: [DONE]"]),
	shown("[DONE] with the name done", hello, [HELLO, finish("stop"), "event: done\ndata: [DONE]\n\n"]),
	shown("the usage before the end", hello, [HELLO, usage, finish("stop"), DONE]),
	shown("a usage in each chunk", hello, [
		line({ ...HEADING, choices: [{ index: 0, delta: { content: "Hello" } }], usage: USAGE }),
		line({ ...HEADING, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: USAGE }),
		DONE,
	]),
	shown("an end twice", hello, [HELLO, finish("stop"), finish("stop"), usage, DONE]),
	shown("text after the end", answer({ text: "Hello!" }), [
		HELLO,
		finish("stop"),
		delta({ content: "!" }),
		DONE,
	]),
	shown("each byte in a read of its own", answer({ text: "Hello \u20ac\ud83d\ude00" }), [
		...oneByteEach(delta({ content: "Hello \u20ac\ud83d\ude00" })),
		END,
	]),
	shown("a pair of surrogates in two events", answer({ text: "Hello \ud83d\ude00" }), [
		contentEvent('"Hello \\ud83d"'),
		contentEvent('"\\ude00"'),
		END,
	]),
	shown(
		"half a pair of surrogates",
		answer({ text: "Hello \ud83d" }),
		[HELLO_REPLY.replace("Hello", "Hello \\ud83d")],
		JSON_TYPE,
	),
	shown("a control character in JSON", answer({ text: "Hel\tlo" }), [contentEvent('"Hel\tlo"'), END]),
	shown(
		"a line break in whole JSON",
		answer({ text: "Hel\nlo" }),
		[HELLO_REPLY.replace("Hello", "Hel\nlo")],
		JSON_TYPE,
	),
	shown("NaN in a stream", hello, [
		HELLO.replace('"finish_reason":null', '"finish_reason":null,"score":NaN'),
		END,
	]),
	shown(
		"-Infinity and NaN in whole JSON",
		answer({ text: "NaN" }),
		[chatReply({ message: { content: "NaN" }, scores: 7 }).replace('"scores":7', '"scores":[-Infinity,NaN]')],
		JSON_TYPE,
	),
	shown("a zero character", answer({ text: "Hel\u0000lo" }), [delta({ content: "Hel\u0000lo" }), END]),
	shown("an event of 300,000 characters", answer({ text: "x".repeat(300_000) }), [
		delta({ content: "x".repeat(300_000) }),
		END,
	]),
	shown("comments, ids and retry", hello, [
		": OPENROUTER PROCESSING\n\n",
		"retry: 3000\n\n",
		`: x\nid: 4\nretry: soon\n${HELLO}`,
		":\n\n",
		END,
	]),
	shown("a wrong media type in capitals", hello, [HELLO, END], { type: "Text/Event-Stream; Charset=UTF-8" }),
	...["text/html", "application/json; charset=iso-8859-1", null].map((type) =>
		shown(`JSON as ${type}`, hello, [HELLO_REPLY], { type }),
	),
	shown("a byte order mark before JSON", hello, [`\uFEFF${HELLO_REPLY}`], JSON_TYPE),
	shown("JSON twice", hello, [`${HELLO_REPLY}\n${HELLO_REPLY}`], JSON_TYPE),
	shown("a reply in result", hello, [`{"success":true,"errors":[],"result":${HELLO_REPLY}}`], JSON_TYPE),
	shown("a reply in data", hello, [`{"code":200,"msg":"ok","data":${HELLO_REPLY}}`], JSON_TYPE),
	shown("a reply in a list", hello, [`[${HELLO_REPLY}]`], JSON_TYPE),
	...[1_790_000_000.5, "2026-11-27T00:00:00Z", 1_790_000_000_123].map((created) =>
		shown(`created ${created}`, hello, [
			line({ ...HEADING, created, choices: [{ index: 0, delta: { content: "Hello" } }] }),
			END,
		]),
	),
	shown("null as the arguments, whole", answer({ calls: [["get_time", {}]] }), [
		calls({ index: 0, id: "a", function: { name: "get_time", arguments: "null" } }),
		finish("tool_calls"),
		DONE,
	]),
	shown("null as the arguments, in pieces", answer({ calls: [["get_time", {}]] }), [
		calls({ index: 0, id: "a", function: { name: "get_time", arguments: "" } }),
		calls({ index: 0, function: { arguments: "nu" } }),
		calls({ index: 0, function: { arguments: "ll" } }),
		finish("tool_calls"),
		DONE,
	]),
	shown("the name in each piece, without the id", oslo, [
		calls({ index: 0, id: "a", type: "function", function: { name: "get_weather", arguments: "" } }),
		calls({ index: 0, function: { name: "get_weather", arguments: '{"city":' } }),
		calls({ index: 0, function: { name: "get_weather", arguments: '"Oslo"}' } }),
		finish("tool_calls"),
		DONE,
	]),
	shown("the same reasoning in two fields", answer({ text: "Hello", reasoning: "Hm." }), [
		delta({ reasoning: "Hm.", reasoning_content: "Hm." }),
		HELLO,
		END,
	]),
];

const failure = (
	name: string,
	[status, sentence, lateSentence]: readonly [number, string, string?],
	pieces: readonly (string | Uint8Array)[],
	wire: Wire = {},
): WireFailure => ({
	name,
	status,
	sentence,
	...(lateSentence && { lateSentence }),
	respond: () => respond(pieces, wire),
});

const FAILED = "The backend 'engine' failed with HTTP";
const BUSY = "Capacity temporarily exceeded";
const UNFINISHED = "The backend 'engine' could not finish its answer";
const UNREADABLE = "The backend 'engine' answered with something that is not";
const CUT = "The backend 'engine' was cut off mid-answer";
const page = (status: number) => `<!DOCTYPE html><html><title>${status}: Bad gateway</title></html>`;

export const WIRE_FAILURES: readonly WireFailure[] = [
	failure(
		"OpenAI's error in a stream",
		[500, `${FAILED} 500`, `${FAILED} 500`],
		[
			HELLO,
			line({ error: { message: "The server had an error", type: "server_error", param: null, code: null } }),
		],
	),
	failure(
		"OpenAI's limit in a stream",
		[429, BUSY, BUSY],
		[
			HELLO,
			line({ error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } }),
			DONE,
		],
	),
	failure(
		"OpenRouter's error in a stream",
		[429, BUSY, BUSY],
		[
			HELLO,
			line({
				...HEADING,
				error: { code: 429, message: "Provider returned error" },
				choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
			}),
		],
	),
	failure(
		"an end with the reason error",
		[500, `${FAILED} 500`, UNFINISHED],
		[HELLO, finish("error"), usage, DONE],
	),
	failure(
		"Anthropic's error in a stream",
		[429, BUSY, BUSY],
		[
			HELLO,
			'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
		],
	),
	failure(
		"Gemini's error in a stream",
		[429, BUSY, BUSY],
		[HELLO, line([{ error: { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" } }])],
	),
	failure(
		"JSON of an error without a field",
		[500, `${FAILED} 500`, `${FAILED} 500`],
		[HELLO, '{"error":{"message":"CUDA out of memory","type":"server_error"}}\n\n'],
	),
	failure(
		"llama.cpp's line of an error",
		[500, `${FAILED} 500`, `${FAILED} 500`],
		[HELLO, 'error: {"code":500,"message":"slot failed","type":"server_error"}\n\n'],
	),
	failure(
		"an error after the end",
		[500, `${FAILED} 500`, `${FAILED} 500`],
		[HELLO, finish("stop"), line({ error: { message: "boom", type: "server_error" } }), DONE],
	),
	failure("the connection breaks in a stream", [502, CUT, CUT], [HELLO], { breaks: true }),
	failure("the connection breaks in JSON", [502, CUT], [HELLO_REPLY.slice(0, 50)], {
		breaks: true,
		...JSON_TYPE,
	}),
	failure("a stream that ends after a text", [502, UNREADABLE, CUT], [HELLO]),
	failure(
		"a text that is no JSON, amid a stream",
		[502, UNREADABLE, UNREADABLE],
		[HELLO, 'data: {"choices":[{"index":0,"delta":{"content":"Hel\n\n', END],
	),
	failure("a role alone", [502, UNREADABLE, UNREADABLE], [delta({ role: "assistant" }), DONE]),
	failure(
		"a message without content and end",
		[502, UNREADABLE],
		[chatReply({ message: {}, finish_reason: null })],
		JSON_TYPE,
	),
	failure(
		"a call that has no name",
		[502, UNREADABLE],
		[chatReply({ message: { tool_calls: [{ id: "a", type: "custom" }] }, finish_reason: "tool_calls" })],
		JSON_TYPE,
	),
	failure("cut JSON", [502, UNREADABLE], [HELLO_REPLY.slice(0, -20)], JSON_TYPE),
	failure("an empty stream", [502, "The backend 'engine'"], [""]),
	failure(
		"an error beside an answer",
		[429, BUSY],
		[chatReply({ message: { content: "Hel" } }, { error: { code: 429, message: "Rate limited" } })],
		JSON_TYPE,
	),
	...(
		[
			[500, 500, `${FAILED} 500`],
			[502, 502, `${FAILED} 502`],
			[503, 429, BUSY],
			[504, 408, "ran out of time"],
			[520, 502, `${FAILED} 520`],
			[524, 408, "ran out of time"],
			[530, 502, "cannot be reached"],
		] as const
	).map(([status, shownStatus, sentence]) =>
		failure(`a page with ${status}`, [shownStatus, sentence], [page(status)], { status, type: "text/html" }),
	),
	...[301, 302, 304, 307, 308].map(
		(status): WireFailure => ({
			name: `a redirect with ${status}`,
			status: 502,
			sentence: "redirects, which is not followed",
			respond: () => new Response(null, { status, headers: { location: "https://elsewhere.example/" } }),
		}),
	),
	{
		name: "204",
		status: 502,
		sentence: UNREADABLE,
		respond: () => new Response(null, { status: 204 }),
	},
];
