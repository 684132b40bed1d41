/** Content blocks of Anthropic's Messages API, and the conversation in them. */
import * as z from "zod";
import { bytesOf, type Turn } from "../script.ts";

export const cache_control = z
	.strictObject({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() })
	.nullish();

export const TextBlock = z.strictObject({
	type: z.literal("text"),
	text: z.string().regex(/\S/, "text content blocks must contain non-whitespace text"),
	cache_control,
	citations: z.array(z.unknown()).nullish(),
});
const ImageBlock = z.strictObject({
	type: z.literal("image"),
	source: z.discriminatedUnion("type", [
		z.strictObject({
			type: z.literal("base64"),
			media_type: z.enum(["image/jpeg", "image/png", "image/gif", "image/webp"]),
			data: z.base64(),
		}),
		z.strictObject({ type: z.literal("url"), url: z.url() }),
	]),
	cache_control,
});
const DocumentBlock = z.looseObject({
	type: z.literal("document"),
	source: z.looseObject({ type: z.string() }),
});
const ThinkingBlock = z.strictObject({
	type: z.literal("thinking"),
	thinking: z.string(),
	signature: z.string().min(1),
});
const RedactedBlock = z.strictObject({ type: z.literal("redacted_thinking"), data: z.string().min(1) });
const ToolUseBlock = z.strictObject({
	type: z.literal("tool_use"),
	id: z.string().regex(/^[\w-]+$/),
	name: z.string().regex(/^[\w-]{1,128}$/),
	input: z.record(z.string(), z.unknown()),
	caller: z.looseObject({}).optional(),
	cache_control,
});
const ToolReference = z.strictObject({
	type: z.literal("tool_reference"),
	tool_name: z.string(),
	cache_control,
});
const ToolResultBlock = z.strictObject({
	type: z.literal("tool_result"),
	tool_use_id: z.string(),
	content: z
		.union([
			z.string(),
			z.array(z.discriminatedUnion("type", [TextBlock, ImageBlock, DocumentBlock, ToolReference])),
		])
		.optional(),
	is_error: z.boolean().nullish(),
	cache_control,
});
/** Blocks of hosted tools. Their fields do not matter here. */
const HostedBlock = z.looseObject({
	type: z.enum(["server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "mid_conv_system"]),
});

/** Only in system messages. */
const Reference = z.strictObject({ type: z.literal("tool_reference"), name: z.string() });
const Definition = z.strictObject({
	type: z.literal("tool_definition"),
	definition: z.looseObject({ name: z.string(), input_schema: z.looseObject({ type: z.literal("object") }) }),
});
export const ToolChange = z.discriminatedUnion("type", [
	z.strictObject({
		type: z.literal("tool_addition"),
		tool: z.discriminatedUnion("type", [Reference, Definition]),
		cache_control,
	}),
	z.strictObject({ type: z.literal("tool_removal"), tool: Reference, cache_control }),
]);

export const Block = z.discriminatedUnion("type", [
	TextBlock,
	ImageBlock,
	DocumentBlock,
	ThinkingBlock,
	RedactedBlock,
	ToolUseBlock,
	ToolResultBlock,
	HostedBlock,
]);
export type Block = z.output<typeof Block> | z.output<typeof ToolChange>;

export interface Message {
	role: "user" | "assistant" | "system";
	content: string | Block[];
}

export const blocksOf = (content: string | Block[]): Block[] =>
	typeof content === "string" ? [{ type: "text", text: content }] : content;

export const textOfBlocks = (content: string | readonly { type: string }[]): string =>
	typeof content === "string"
		? content
		: content
				.map((block) => ("text" in block && typeof block.text === "string" ? block.text : ""))
				.join("\n");

/** Also those in the result of a tool. 0 for an address, which the host would fetch. */
function imagesOf(block: Block | { type: "tool_reference" }): number[] {
	if (block.type === "image") return [block.source.type === "base64" ? bytesOf(block.source.data) : 0];
	if (block.type !== "tool_result" || typeof block.content === "string") return [];
	return (block.content ?? []).flatMap(imagesOf);
}

export function turnsOf(messages: readonly Message[]): Turn[] {
	const names = new Map<string, string>();
	return messages.map(({ content, role }) => {
		const blocks = blocksOf(content);
		const calls = blocks.flatMap((block) => (block.type === "tool_use" ? [block] : []));
		for (const { id, name } of calls) names.set(id, name);
		return {
			role,
			text: textOfBlocks(blocks),
			images: blocks.flatMap(imagesOf),
			calls: calls.map(({ input, name }) => ({ name, input })),
			results: blocks.flatMap((block) =>
				block.type === "tool_result"
					? [{ name: names.get(block.tool_use_id) ?? "", text: textOfBlocks(block.content ?? "") }]
					: [],
			),
		};
	});
}
