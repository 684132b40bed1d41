/**
 * The simulator's tokenizer: every model has the same one. A token is a word of up to seven letters with the space
 * before it (longer words are cut every seven), one character of a script without spaces, up to three digits, up to
 * four signs, or a run of white space. English comes out at about 1.25 tokens a word, as with real models.
 */
import type { ChatInput, ContentPart } from "../../tasks/text-generation.ts";

const PIECE =
	/ ?(?:[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{M}]{1,7}|\p{N}{1,3}|[^\s\p{L}\p{M}\p{N}]{1,4})|\s{1,8}/gu;

/** The role and the marks around a message. */
const MESSAGE_TOKENS = 4;
/** The marks that open the reply. */
const REPLY_TOKENS = 3;
/** An image, a sound or a file, whatever its size. */
const MEDIA_PART_TOKENS = 256;

/** Pieces of a text; joined they are the text. */
export const tokenize = (text: string): string[] => text.match(PIECE) ?? [];

export const countTokens = (text: string): number => tokenize(text).length;

function contentTokens(content: string | ContentPart[] | null): number {
	if (content === null) return 0;
	if (typeof content === "string") return countTokens(content);
	let total = 0;
	for (const part of content)
		total +=
			part.text !== undefined || part.refusal !== undefined
				? countTokens(part.text ?? part.refusal ?? "")
				: MEDIA_PART_TOKENS;
	return total;
}

/** `prompt_tokens` of a chat: its messages with what they call and carry, and the tools it offers. */
export function countPrompt({ messages, prompt, tools = [] }: ChatInput): number {
	if (prompt !== undefined) return countTokens(prompt);
	let total = REPLY_TOKENS;
	for (const { content, name, tool_calls, reasoning_content } of messages) {
		total += MESSAGE_TOKENS + contentTokens(content) + countTokens(name ?? "");
		total += countTokens(reasoning_content ?? "");
		for (const call of tool_calls ?? [])
			total += countTokens(call.function.name) + countTokens(call.function.arguments);
	}
	for (const tool of tools) total += countTokens(JSON.stringify(tool.function));
	return total;
}
