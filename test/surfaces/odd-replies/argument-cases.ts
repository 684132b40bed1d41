/** Arguments of calls that are no JSON, as models write them. */
import { calls, chatReply, DONE, finish, usage } from "./chat-replies.ts";

/** Name, text, and the arguments that every client has to see. */
export const REPAIRED_ARGUMENTS: readonly (readonly [name: string, text: string, args: object])[] = [
	["single quotes", "{'city': 'Oslo', 'near': \"d'Or\"}", { city: "Oslo", near: "d'Or" }],
	["Python's words", '{"city": "Oslo", "now": True, "at": None}', { city: "Oslo", now: true, at: null }],
	["names and texts without quotes", "{city: Oslo, days: 2}", { city: "Oslo", days: 2 }],
	["a line break in a text", '{"city": "Os\nlo"}', { city: "Os\nlo" }],
	["an escape that JSON does not have", String.raw`{"city": "\d+ it\'s"}`, { city: "\\d+ it's" }],
	["a brace too many", '{"city": "Oslo"}}', { city: "Oslo" }],
	["text after the object", '{"city": "Oslo"}</tool_call>', { city: "Oslo" }],
];

/** A comma before a bracket. Chat streams send it if it ends a piece of the engine. */
export const LAST_COMMA = '{"city": "Oslo", "days": [1, 2,],\n}';
export const WITHOUT_COMMA = { city: "Oslo", days: [1, 2] };

/** No rule tells where the text ends. */
export const BROKEN_ARGUMENTS = '{"city": "Oslo "by night"", "days": 2}';

const TOOL = { id: "call_1", type: "function" };
const called = (text: string) => ({ name: "get_weather", arguments: text });

export const wholeCall = (text: string): string =>
	chatReply({
		message: { role: "assistant", content: null, tool_calls: [{ ...TOOL, function: called(text) }] },
		finish_reason: "tool_calls",
	});

/** @param reason of the end. */
export const streamedCall = (pieces: readonly string[], reason = "tool_calls"): string =>
	calls({ index: 0, ...TOOL, function: called("") }) +
	pieces.map((piece) => calls({ index: 0, function: { arguments: piece } })).join("") +
	finish(reason) +
	usage +
	DONE;
