/**
 * Converts the messages of a Messages request to chat messages. Consecutive messages of one role are merged, as in
 * Anthropic's API; many chat templates require it. In a user message the tool results come first, directly after the calls.
 */
import * as z from "zod";
import type { ChatMessage, ContentPart, ThinkingBlock } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../invalid-input.ts";
import {
	type AssistantBlock,
	type BlockRules,
	contentOf,
	MessageContent,
	type PlacedBlock,
	partsOf,
	placeBlocks,
	readAssistantBlock,
	readInstructions,
	readResult,
	readUserBlock,
	withBreakpoint,
} from "./blocks.ts";
import { isToolChange } from "./tool-changes.ts";
import { engineToolId } from "./tool-ids.ts";

/** `none`, `minimal` and others of OpenAI are not Anthropic's. */
export const Effort = z.enum(["low", "medium", "high", "xhigh", "max"]);

const Turn = z.object({ role: z.enum(["user", "assistant"]), content: MessageContent });
/** Loose, so that unknown fields stay in the request that is forwarded unchanged. */
const Instruction = z.looseObject({
	role: z.literal("system"),
	content: MessageContent.default([]),
	/** From this message on. */
	output_config: z.looseObject({ effort: Effort.nullish() }).nullish(),
});
export const Messages = z.array(z.discriminatedUnion("role", [Turn, Instruction])).min(1);
export type Messages = z.output<typeof Messages>;

/** The effort that the last message with an effort sets. */
export const lastEffort = (messages: Messages): z.output<typeof Effort> | undefined =>
	messages
		.flatMap((message) => (message.role === "system" ? (message.output_config?.effort ?? []) : []))
		.at(-1);

/** Throws 5006 for content that the model does not accept, 8001 for unsupported content. */
export function readMessages(
	sent: Messages,
	system: MessageContent | null | undefined,
	rules: BlockRules,
): ChatMessage[] {
	const instructions = system ? readInstructions(placeBlocks(system, "system"), rules) : "";
	const messages: ChatMessage[] = instructions.length > 0 ? [{ role: "system", content: instructions }] : [];
	for (const { role, blocks } of mergeRoles(sent)) {
		if (role === "assistant")
			messages.push(...assistantMessage(blocks.flatMap((placed) => readAssistantBlock(placed, rules))));
		else if (role === "user") messages.push(...userMessages(blocks, rules));
		else {
			const content = readInstructions(
				blocks.filter(({ block }) => !isToolChange(block)),
				rules,
			);
			if (content.length > 0) messages.push({ role, content });
		}
	}
	if (messages.some(({ role }) => role !== "system")) return messages;
	const refusal = invalidInput("messages: no user or assistant message has content");
	if (!rules.onUnsupported) throw refusal;
	rules.onUnsupported(refusal);
	return [...messages, { role: "user", content: "" }];
}

interface MergedMessage {
	role: Messages[number]["role"];
	blocks: PlacedBlock[];
}

function mergeRoles(sent: Messages): MergedMessage[] {
	const merged: MergedMessage[] = [];
	for (const [index, { role, content }] of sent.entries()) {
		const blocks = placeBlocks(content, `messages[${index}].content`);
		const last = merged.at(-1);
		if (last?.role === role) last.blocks.push(...blocks);
		else merged.push({ role, blocks });
	}
	return merged;
}

/** The tool results, then the content as one user message. */
function userMessages(blocks: PlacedBlock[], rules: BlockRules): ChatMessage[] {
	const results: ChatMessage[] = [];
	const content: ContentPart[] = [];
	for (const [{ at, block: sent }, block] of blocks.flatMap((placed) =>
		readUserBlock(placed, rules).map((block) => [placed, block] as const),
	)) {
		if (block.type !== "tool_result") {
			content.push(...withBreakpoint(partsOf(block, at, rules), sent));
			continue;
		}
		const parts = withBreakpoint(readResult(block.content ?? "", `${at}.content`, rules), sent);
		// Chat messages have no error flag.
		if (block.is_error) parts.unshift({ type: "text", text: "The tool failed:" });
		results.push({ role: "tool", tool_call_id: engineToolId(block.tool_use_id), content: contentOf(parts) });
	}
	return content.length > 0 ? [...results, { role: "user", content: contentOf(content) }] : results;
}

/** One message, or none if there is only thinking. */
function assistantMessage(blocks: AssistantBlock[]): ChatMessage[] {
	let content = "";
	let reasoning = "";
	const thinking_blocks: ThinkingBlock[] = [];
	const calls: ChatMessage["tool_calls"] = [];
	for (const block of blocks) {
		// Text after a call joins the text before it.
		if (block.type === "text") content += block.text;
		if (block.type === "thinking") {
			const { type, thinking, signature } = block;
			reasoning += thinking;
			if (signature) thinking_blocks.push({ type, thinking, signature });
		}
		if (block.type === "redacted_thinking") thinking_blocks.push(block);
		if (block.type !== "tool_use") continue;
		const called = { name: block.name, arguments: JSON.stringify(block.input) };
		calls.push({ id: engineToolId(block.id), type: "function", function: called });
	}
	if (!content && calls.length === 0) return [];
	return [
		{
			role: "assistant",
			content: content || null,
			...(reasoning && { reasoning_content: reasoning }),
			...(thinking_blocks.length > 0 && { thinking_blocks }),
			...(calls.length > 0 && { tool_calls: calls }),
		},
	];
}
