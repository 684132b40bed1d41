/**
 * Converts a conversation to Anthropic's format: separate instructions, alternating user and assistant turns, tool calls
 * and results as content blocks.
 *
 * Only thinking blocks with a signature are sent back: the API refuses others. If the conversation ends with an assistant
 * message, the answer continues it ("prefill"); not all models support that.
 */
import { isRecord, parseJson } from "../../core/json.ts";
import type { ChatMessage, ToolCall } from "../../tasks/text-generation/types.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { type Block, blocksOf } from "./content.ts";

export interface Turn {
	role: "user" | "assistant";
	content: Block[];
}

export interface Conversation {
	system: string | Block[] | undefined;
	messages: Turn[];
}

export function readConversation(sent: readonly ChatMessage[], call: Call): Conversation {
	const system: string[] = [];
	const turns: Turn[] = [];
	for (const message of sent) {
		const content = contentOf(message, call);
		if (message.role === "system" || message.role === "developer") {
			system.push(...content.flatMap(({ text }) => (typeof text === "string" ? [text] : [])));
			continue;
		}
		const role = message.role === "assistant" ? "assistant" : "user";
		const last = turns.at(-1);
		if (last?.role === role) last.content.push(...content);
		else if (content.length > 0) turns.push({ role, content });
	}
	const messages = withoutTrailingSpace(turns.map(resultsFirst));
	const instructions = system.join("\n\n");
	// The API requires at least one message.
	if (messages.length === 0 && instructions)
		return {
			system: undefined,
			messages: [{ role: "user", content: [{ type: "text", text: instructions }] }],
		};
	return { system: instructions || undefined, messages };
}

function contentOf(message: ChatMessage, call: Call): Block[] {
	const blocks = blocksOf(message.content, call);
	if (message.role === "tool") {
		const [only] = blocks;
		const content = blocks.length === 1 && only?.type === "text" ? only.text : blocks;
		const result = { type: "tool_result", tool_use_id: toolId(message.tool_call_id ?? "") };
		return [blocks.length === 0 ? result : { ...result, content }];
	}
	if (message.role !== "assistant") return blocks;
	const thoughts = (message.thinking_blocks ?? []).map((block): Block => ({ ...block })).filter(isSigned);
	return [...thoughts, ...blocks, ...(message.tool_calls ?? []).map(toolUse)];
}

/** Thinking blocks of other models have no signature. */
export const isSigned = ({ type, signature, data }: Block): boolean =>
	type === "thinking" ? Boolean(signature) : Boolean(data);

const toolUse = ({ id, function: { name, arguments: text } }: ToolCall): Block => ({
	type: "tool_use",
	id: toolId(id),
	name,
	input: objectIn(text),
});

/** The API accepts letters, digits, `_` and `-`. The conversion is the same for a call and its result. */
export const toolId = (id: string): string => id.replaceAll(/[^\w-]/g, "_") || "_";

/** Arguments must be an object. A call that was interrupted has no valid arguments. */
function objectIn(text: string): object {
	const value = parseJson(text);
	return isRecord(value) ? value : {};
}

/** Tool results must precede all other content of a user turn. */
function resultsFirst({ role, content }: Turn): Turn {
	const isResult = ({ type }: Block) => type === "tool_result";
	return { role, content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))] };
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
export function lacksThoughts({ messages }: Conversation): boolean {
	const answersCalls = messages.at(-1)?.content.some(({ type }) => type === "tool_result") ?? false;
	return answersCalls && !isThought(messages.at(-2)?.content[0]);
}

export const isThought = (block: Block | undefined): boolean =>
	block?.type === "thinking" || block?.type === "redacted_thinking";
