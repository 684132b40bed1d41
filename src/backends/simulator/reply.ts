/**
 * The text of a reply. It states that it is simulated, names the model, and quotes the user's last text, or the results
 * of tools. System prompts are never quoted. A request for literal text ("Reply with exactly: OK") gets that text.
 */
import { type ChatInput, textOf } from "../../tasks/text-generation/types.ts";
import type { UserText } from "./user-text.ts";

/** Characters of the user's text that a reply quotes: of its beginning, and of its end. */
const QUOTED_HEAD = 200;
const QUOTED_TAIL = 100;
const QUOTED_RESULT = 1_000;
/** Results that a reply quotes, the last ones. */
const MAX_RESULTS = 16;
/** A longer request for literal text is quoted like any other text. */
const MAX_LITERAL = 2_000;

export function replyTo(input: ChatInput, user: UserText, modelId: string): string {
	const parts = resultsOf(input).slice(-MAX_RESULTS);
	const adapter = input.lora === undefined ? "" : ` with the adapter ${input.lora}`;
	return `Simulated reply from Ganglion for ${modelId}${adapter}: no model ran. ${parts.length > 0 ? parts.join(" ") : quoteOf(user)}`;
}

function quoteOf({ text, attachments }: UserText): string {
	const files =
		attachments === 0 ? "" : ` It has ${attachments} attachment${attachments === 1 ? "" : "s"}, not read.`;
	return text === "" ? `The last message has no text.${files}` : `You wrote: ${quote(text)}.${files}`;
}

/** One sentence for each tool result that ends the conversation. */
function resultsOf({ messages }: ChatInput): string[] {
	const names = new Map(
		messages.flatMap(({ tool_calls = [] }) =>
			tool_calls.map((call) => [call.id, call.function.name] as const),
		),
	);
	const last = messages.findLastIndex(({ role }) => role !== "tool");
	return messages.slice(last + 1).map(({ content, name, tool_call_id = "" }) => {
		const tool = names.get(tool_call_id) ?? name ?? "The tool";
		return `${tool} returned: ${quote(textOf(content), QUOTED_RESULT)}.`;
	});
}

/** In one line. Of a long text the beginning and the end. */
function quote(text: string, head = QUOTED_HEAD): string {
	const characters = Array.from(
		text
			.slice(0, 4 * head)
			.replace(/\s+/g, " ")
			.trim(),
	);
	if (text.length <= 4 * head && characters.length <= head + QUOTED_TAIL) return `"${characters.join("")}"`;
	const end = Array.from(
		text
			.slice(-2 * QUOTED_TAIL)
			.replace(/\s+/g, " ")
			.trim(),
	).slice(-QUOTED_TAIL);
	return `"${characters.slice(0, head).join("")} … ${end.join("")}"`;
}

const NOUN = "words?|text|phrase|sentence|string|message|line|following";
const REQUEST = new RegExp(
	String.raw`^(?:please\s+)?(?:just\s+|only\s+)?(?<verb>say|repeat|echo|reply|respond|answer|output|print|write|return)` +
		String.raw`(?<manner>(?:\s+(?:back|after me|with|only|just|exactly|nothing but|(?:(?:the|this)\s+)?(?:(?:following|single|exact|one)\s+)?(?:${NOUN})))*)` +
		String.raw`(?<colon>:?)\s+(?<words>\S[\s\S]*)$`,
	"i",
);

/** The literal text that the text, or its last line, requests; undefined without such a request. */
export function literalReply(text: string): string | undefined {
	return literalIn(text) ?? literalIn(text.slice(text.lastIndexOf("\n") + 1));
}

function literalIn(text: string): string | undefined {
	if (text.length > MAX_LITERAL) return undefined;
	const { verb = "", manner = "", colon, words = "" } = REQUEST.exec(text.trim())?.groups ?? {};
	if (words === "") return undefined;
	const quoted = /^["“«'`]([\s\S]+)["”»'`][.!]?$/.exec(words)?.[1];
	if (quoted !== undefined) return quoted;
	if (colon) return words;
	// "Say hello", but not "Say, what is this?"
	if (/say|repeat|echo/i.test(verb)) return /[?？]$/.test(words) ? undefined : words;
	if (!/reply|respond|answer/i.test(verb)) return undefined;
	if (/exactly|nothing but|words?|phrase|following/i.test(manner)) return words;
	// "Answer only with PONG", but not "Answer only with yes or no".
	return /only|just/i.test(manner) && !/\s/.test(words) ? words : undefined;
}
