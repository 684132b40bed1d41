/**
 * Replies that gateways and engines with OpenAI's address have been seen to send in the format of another API: of the model's vendor, of a
 * cloud, or of their own.
 */
import type { OddReply } from "./cases.ts";
import { calls, chatReply, choices, DONE, delta, finish, HEADING, line, USAGE } from "./chat-replies.ts";
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

const END = finish("stop") + DONE;
const called = {
	index: 0,
	id: "a",
	type: "function",
	function: { name: "get_weather", arguments: '{"city":"Oslo"}' },
};
const CHOICE = { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" };
const thought = answer({ text: "Hello", reasoning: "Hm." });

export const VENDOR_FORMS: readonly OddReply[] = [
	form("DashScope's output", hello, { output: { choices: [CHOICE] }, usage: USAGE, request_id: "r" }),
	form("DashScope's text", hello, { output: { text: "Hello", finish_reason: "stop" }, request_id: "r" }),
	form("choices in data", hello, { code: 0, data: { choices: [CHOICE] } }),
	form("choices as an object", hello, { ...HEADING, choices: CHOICE, usage: USAGE }),
	form("a text of completions", hello, {
		...HEADING,
		choices: [{ index: 0, text: "Hello", finish_reason: "stop" }],
	}),
	events(
		"texts of completions",
		hello,
		choices({ index: 0, text: "Hel", finish_reason: null }),
		choices({ index: 0, text: "lo", finish_reason: "stop" }),
		DONE,
	),
	events(
		"the whole message at the end",
		hello,
		delta({ role: "assistant", content: "Hel" }),
		delta({ content: "lo" }),
		choices({ index: 0, delta: {}, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }),
		DONE,
	),
	events(
		"the whole message with calls at the end",
		oslo,
		calls(called),
		choices({
			index: 0,
			delta: {},
			message: { role: "assistant", content: null, tool_calls: [{ ...called, id: "b" }] },
			finish_reason: "tool_calls",
		}),
		DONE,
	),
	events(
		"the whole message without a delta at the end, after calls",
		oslo,
		calls(called),
		choices({
			index: 0,
			message: { role: "assistant", content: null, tool_calls: [{ ...called, id: "b" }] },
			finish_reason: "tool_calls",
		}),
		DONE,
	),
	events(
		"the whole call again at the end",
		oslo,
		calls(called),
		choices({ index: 0, delta: { tool_calls: [called] }, finish_reason: "tool_calls" }),
		DONE,
	),
	events(
		"Mistral's parts",
		thought,
		delta({ role: "assistant", content: "" }),
		delta({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }),
		delta({ content: [{ type: "text", text: "Hel" }] }),
		delta({ content: "lo" }),
		END,
	),
	form(
		"Mistral's thinking and nothing else beside a text",
		thought,
		chatReply({
			message: {
				content: [
					{ type: "thinking", thinking: [{ type: "text", text: "Hm." }], closed: true },
					{ type: "text", text: "Hello" },
				],
			},
		}),
	),
	form(
		"the same reasoning under two names",
		thought,
		chatReply({ message: { content: "Hello", reasoning: "Hm.", reasoning_content: "Hm." } }),
	),
	events(
		"the same reasoning under two names, streamed",
		thought,
		delta({ role: "assistant", reasoning: "Hm.", reasoning_content: "Hm." }),
		delta({ content: "Hello" }),
		END,
	),
	form("a call under args", oslo, {
		...HEADING,
		choices: [
			{
				index: 0,
				message: {
					role: "assistant",
					tool_calls: [{ id: "a", name: "get_weather", args: { city: "Oslo" } }],
				},
				finish_reason: "tool_calls",
			},
		],
	}),
	form(
		"one call, not in a list",
		oslo,
		chatReply({ message: { role: "assistant", content: null, tool_calls: called } }),
	),
	form(
		"the name in the place of the function",
		oslo,
		chatReply({
			message: {
				content: null,
				tool_calls: [{ id: "a", function: "get_weather", arguments: { city: "Oslo" } }],
			},
		}),
	),
	form(
		"the arguments beside the function",
		oslo,
		chatReply({
			message: {
				content: null,
				tool_calls: [{ id: "a", function: { name: "get_weather" }, arguments: { city: "Oslo" } }],
			},
		}),
	),
	form(
		"a function as a text of JSON",
		oslo,
		chatReply({
			message: { content: null, tool_calls: [{ ...called, function: JSON.stringify(called.function) }] },
		}),
	),
	...(
		[
			["STOP", "stop"],
			["end_turn", "stop"],
			["COMPLETE", "stop"],
			["stop_sequence", "stop"],
			["eos_token", "stop"],
			["MAX_TOKENS", "length"],
			["max_output_tokens", "length"],
			["SAFETY", "content_filter"],
			["content-filter", "content_filter"],
		] as const
	).flatMap(([sent, finishReason]) => {
		const expected = answer({ text: "Hello", finish: finishReason });
		return [
			form(`the reason ${sent}`, expected, chatReply({ message: { content: "Hello" }, finish_reason: sent })),
			events(`the reason ${sent}, streamed`, expected, delta({ content: "Hello" }), finish(sent), DONE),
		];
	}),
	events("the reason tool_use", oslo, calls(called), finish("tool_use"), DONE),
	events(
		"ids and names of events",
		hello,
		`id: 1\nevent: message\n${delta({ content: "Hello" })}`,
		`id: 2\nevent: message\n${finish("stop")}`,
		`id: 3\nevent: done\n${DONE}`,
	),
	events("an end in quotes", hello, delta({ content: "Hello" }), finish("stop"), 'data: "[DONE]"\n\n'),
	events("an end in small letters", hello, delta({ content: "Hello" }), finish("stop"), "data: [done]\n\n"),
	events("no line break at the end", hello, delta({ content: "Hello" }), finish("stop").trimEnd()),
	events(
		"events of null content around calls",
		oslo,
		delta({ role: "assistant", content: null, tool_calls: null }),
		calls(called),
		delta({ content: null, tool_calls: [] }),
		finish("tool_calls"),
		DONE,
	),
	events(
		"a usage of null in each event",
		hello,
		line({
			...HEADING,
			choices: [{ index: 0, delta: { content: "Hello" }, finish_reason: null }],
			usage: null,
		}),
		line({ ...HEADING, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null }),
		DONE,
	),
];

/** With status 200. */
export const VENDOR_FAILURES: Readonly<Record<string, object>> = {
	"MiniMax's base_resp": {
		base_resp: { status_code: 1004, status_msg: "login fail: carry the API secret key" },
	},
	"Baidu's error_msg": { error_code: 336103, error_msg: "the max length of current question is 2000" },
	"DashScope's code and message": {
		...{ code: "InvalidParameter", request_id: "r" },
		message: "Range of input length should be [1, 30720]",
	},
	"a status and a reason": { status: "error", reason: "no instance is ready" },
	"errors as texts": { errors: ["The model is overloaded"] },
	"Anthropic's error": { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
	"a failure inside of data": { code: 500, msg: "failed", data: null },
	"no choices": { ...HEADING, choices: [] },
	"choices of null": { ...HEADING, choices: null },
	"an empty object": {},
};
