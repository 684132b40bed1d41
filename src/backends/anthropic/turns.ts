/**
 * Converts a conversation to Anthropic's format: separate instructions, alternating user and assistant turns, tool calls
 * and results as content blocks.
 *
 * Only thinking blocks of this model are sent back, whose seals can be opened: the API refuses others. If the conversation ends with an assistant
 * message, the answer continues it ("prefill"); not all models support that.
 */
import { AiError } from "../../core/errors.ts";
import { parseRecord } from "../../core/json.ts";
import { decodeBase64, splitDataUrl } from "../../media/base64.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import type { ChatMessage, ContentPart, ToolCall } from "../../tasks/text-generation/types.ts";
import { openMessage } from "../sealed-messages.ts";
import type { Seals } from "../seals.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { unsupported } from "../unsupported.ts";
import { type AnthropicBlock, isThought, thoughtsIn } from "./thoughts.ts";
import { isResult, joinedTurns, pairTurns } from "./tool-turns.ts";

export interface Turn {
	role: "user" | "assistant";
	content: AnthropicBlock[];
}

export interface Conversation {
	system: string | AnthropicBlock[] | undefined;
	messages: Turn[];
}

export function readConversation(
	sent: readonly ChatMessage[],
	call: Call,
	seals: Seals | undefined,
): Conversation {
	const system: AnthropicBlock[] = [];
	const turns: Turn[] = [];
	for (const message of sent) {
		const content = contentOf(message, call, seals);
		if (message.role === "system" || message.role === "developer") {
			system.push(...content.filter(({ type }) => type === "text"));
			continue;
		}
		if (content.length > 0)
			turns.push({ role: message.role === "assistant" ? "assistant" : "user", content });
	}
	const messages = withoutTrailingSpace(pairTurns(joinedTurns(turns).map(resultsFirst)));
	// The API requires at least one message.
	if (messages.length === 0 && system.length > 0)
		return {
			system: undefined,
			messages: [{ role: "user", content: textBlocks(joinedTexts(system)) }],
		};
	// Blocks only for their breakpoints: not every server with this API takes them.
	if (system.some(({ cache_control }) => cache_control !== undefined)) return { system, messages };
	return { system: joinedTexts(system) || undefined, messages };
}

const joinedTexts = (blocks: readonly AnthropicBlock[]): string =>
	blocks.map(({ text }) => text).join("\n\n");

function contentOf(message: ChatMessage, call: Call, seals: Seals | undefined): AnthropicBlock[] {
	const blocks = blocksOf(message.content, call);
	if (message.role === "tool") {
		const [only] = blocks;
		// The result ends with its last block.
		const { cache_control, ...last } = blocks.at(-1) ?? { type: "text" };
		if (cache_control !== undefined) blocks.splice(-1, 1, last as AnthropicBlock);
		const content = blocks.length === 1 && only?.type === "text" ? only.text : blocks;
		const id = toolId(message.tool_call_id ?? "");
		const result = withBreakpoint({ type: "tool_result", tool_use_id: id }, cache_control);
		return [blocks.length === 0 ? result : { ...result, content }];
	}
	if (message.role !== "assistant") return blocks;
	const thoughts = thoughtsIn(openMessage(message, seals), call);
	return [...thoughts, ...blocks, ...(message.tool_calls ?? []).map(toolUse)];
}

const toolUse = ({ id, function: { name, arguments: text } }: ToolCall): AnthropicBlock => ({
	type: "tool_use",
	id: toolId(id),
	name,
	// Arguments must be an object. A call that was interrupted has no valid arguments.
	input: parseRecord(text) ?? {},
});

/** The API accepts letters, digits, `_` and `-`. The conversion is the same for a call and its result. */
export const toolId = (id: string): string => id.replaceAll(/[^\w-]/g, "_") || "_";

/** Tool results must precede all other content of a user turn. */
function resultsFirst({ role, content }: Turn): Turn {
	return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] };
}

const NO_MESSAGE: Turn = { role: "user", content: [{ type: "text", text: "(no message)" }] };

/** The API requires that the user begins. Other APIs do not. */
export function fromUser({ messages, ...conversation }: Conversation): Conversation {
	const isAnswer = messages[0]?.role === "assistant";
	return { ...conversation, messages: isAnswer ? [NO_MESSAGE, ...messages] : messages };
}

/** The API refuses a prefill that ends with white space. */
export function withoutTrailingSpace(turns: Turn[]): Turn[] {
	const last = turns.at(-1);
	const block = last?.content.at(-1);
	if (last?.role !== "assistant" || typeof block?.text !== "string") return turns;
	const content = [...last.content.slice(0, -1), { ...block, text: block.text.trimEnd() }];
	return [...turns.slice(0, -1), { ...last, content }];
}

/** Whether the answer continues an assistant message. */
export const isPrefilled = ({ messages }: Conversation): boolean => messages.at(-1)?.role === "assistant";

/** Whether the conversation ends with tool results, without the thinking blocks before the calls. */
export function lacksThoughts({ messages }: { messages: readonly Pick<Turn, "content">[] }): boolean {
	const answersCalls = messages.at(-1)?.content.some(isResult);
	return answersCalls === true && !isThought(messages.at(-2)?.content[0]);
}

/** The API refuses blank texts. */
const textBlocks = (text: string): AnthropicBlock[] => (text.trim() === "" ? [] : [{ type: "text", text }]);

function blocksOf(content: ChatMessage["content"], call: Call): AnthropicBlock[] {
	if (content === null) return [];
	if (typeof content === "string") return textBlocks(content);
	return content.flatMap((part) =>
		blockOf(part, call).map((block) => withBreakpoint(block, part.cache_control)),
	);
}

const withBreakpoint = (block: AnthropicBlock, cache_control: unknown): AnthropicBlock =>
	cache_control === undefined ? block : { ...block, cache_control };

function blockOf(part: ContentPart, call: Call): AnthropicBlock[] {
	switch (part.type) {
		case "text":
			return textBlocks(part.text ?? "");
		case "refusal":
			return textBlocks(part.refusal ?? "");
		case "image_url":
			return [{ type: "image", source: urlSource(part.image_url?.url ?? "", call) }];
		case "file":
			return [documentOf(part.file ?? {}, call)];
		case "input_audio":
			throw unsupported(call, "takes no audio");
		default:
			return part.type satisfies never;
	}
}

/** The upstream fetches URLs itself; data URLs are sent inline. */
function urlSource(url: string, call: Call): object {
	if (!/^data:/i.test(url)) return { type: "url", url };
	const embedded = splitDataUrl(url);
	if (!embedded) throw unsupported(call, "takes data URLs in base64 alone");
	return { type: "base64", media_type: essenceOf(embedded.contentType), data: embedded.base64 };
}

/** A PDF, unless the media type is a text type. */
function documentOf({ file_data, filename }: NonNullable<ContentPart["file"]>, call: Call): AnthropicBlock {
	if (!file_data) throw unsupported(call, "takes files by their content, not by an id");
	const { contentType, base64: data } = splitDataUrl(file_data) ?? { contentType: "", base64: file_data };
	const type = essenceOf(contentType) || "application/pdf";
	const source = type.startsWith("text/")
		? { type: "text", media_type: "text/plain", data: textOfBase64(data) }
		: { type: "base64", media_type: type, data };
	return { type: "document", source, ...(filename && { title: filename }) };
}

/** Without parameters. */
const essenceOf = (contentType: string): string | undefined => contentType.split(";", 1)[0]?.toLowerCase();

function textOfBase64(data: string): string {
	const bytes = decodeBase64(data);
	if (!bytes) throw new AiError("invalidData");
	return decodeUtf8(bytes);
}
