/**
 * Turns of a Messages request to chat messages. Consecutive turns of one role are one turn, as Anthropic has it, and as
 * many chat templates insist. In a turn of the user, results of tools come first: they follow the calls that they answer.
 */
import * as z from "zod";
import type { ChatMessage, ContentPart, ThinkingBlock } from "../../tasks/text-generation/types.ts";
import { invalidInput } from "../chat/errors.ts";
import {
	type AssistantBlock,
	type BlockRules,
	Content,
	type Placed,
	partsOf,
	place,
	readAssistantBlock,
	readResult,
	readTexts,
	readUserBlock,
} from "./blocks.ts";
import { engineToolId } from "./tool-ids.ts";

export const Messages = z
	.array(z.object({ role: z.enum(["user", "assistant", "system"]), content: Content }))
	.min(1);
export type Messages = z.output<typeof Messages>;

/** Throws 5006 for content that the model does not take, 8001 for what is not read here. */
export function readMessages(
	sent: Messages,
	system: Content | null | undefined,
	rules: BlockRules,
): ChatMessage[] {
	const instructions = system ? readTexts(place(system, "system")).join("\n\n") : "";
	const messages: ChatMessage[] = instructions ? [{ role: "system", content: instructions }] : [];
	for (const { role, blocks } of turnsOf(sent)) {
		if (role === "assistant")
			messages.push(...assistantTurn(blocks.flatMap((placed) => readAssistantBlock(placed, rules))));
		else if (role === "user") messages.push(...userTurn(blocks, rules));
		else
			messages.push({
				role,
				content: readTexts(blocks).join("\n\n"),
			});
	}
	const asks = messages.some(({ role }) => role !== "system");
	if (asks) return messages;
	const refusal = invalidInput("messages: there is nothing said in them");
	if (!rules.leave) throw refusal;
	rules.leave(refusal);
	return [...messages, { role: "user", content: "" }];
}

interface SentTurn {
	role: Messages[number]["role"];
	blocks: Placed[];
}

function turnsOf(sent: Messages): SentTurn[] {
	const turns: SentTurn[] = [];
	for (const [index, { role, content }] of sent.entries()) {
		const blocks = place(content, `messages[${index}].content`);
		const last = turns.at(-1);
		if (last?.role === role) last.blocks.push(...blocks);
		else turns.push({ role, blocks });
	}
	return turns;
}

function userTurn(blocks: Placed[], rules: BlockRules): ChatMessage[] {
	const results: ChatMessage[] = [];
	const said: ContentPart[] = [];
	for (const [at, block] of blocks.flatMap((placed) =>
		readUserBlock(placed, rules).map((block) => [placed.at, block] as const),
	)) {
		if (block.type !== "tool_result") {
			said.push(...partsOf(block, at, rules));
			continue;
		}
		const parts = readResult(block.content ?? "", `${at}.content`, rules);
		// Chat has no other way to say that it failed.
		if (block.is_error) parts.unshift({ type: "text", text: "The tool failed:" });
		results.push({ role: "tool", tool_call_id: engineToolId(block.tool_use_id), content: contentOf(parts) });
	}
	return said.length > 0 ? [...results, { role: "user", content: contentOf(said) }] : results;
}

/** Some chat templates take nothing but a string. */
function contentOf(parts: ContentPart[]): string | ContentPart[] {
	return parts.every(({ type }) => type === "text") ? parts.map(({ text }) => text).join("\n") : parts;
}

function assistantTurn(blocks: AssistantBlock[]): ChatMessage[] {
	let content = "";
	let thoughts = "";
	const thinking_blocks: ThinkingBlock[] = [];
	const calls: ChatMessage["tool_calls"] = [];
	for (const block of blocks) {
		// What follows a call within a turn is a text like any other.
		if (block.type === "text") content += block.text;
		if (block.type === "thinking") {
			const { type, thinking, signature } = block;
			thoughts += thinking;
			if (signature) thinking_blocks.push({ type, thinking, signature });
		}
		if (block.type === "redacted_thinking") thinking_blocks.push(block);
		if (block.type !== "tool_use") continue;
		const called = { name: block.name, arguments: JSON.stringify(block.input) };
		calls.push({ id: engineToolId(block.id), type: "function", function: called });
	}
	// Thoughts that led to nothing have no place in a chat.
	if (!content && calls.length === 0) return [];
	return [
		{
			role: "assistant",
			content: content || null,
			...(thoughts && { reasoning_content: thoughts }),
			...(thinking_blocks.length > 0 && { thinking_blocks }),
			...(calls.length > 0 && { tool_calls: calls }),
		},
	];
}
