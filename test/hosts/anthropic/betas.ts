/** What the Messages API knows only with a beta of the header `anthropic-beta`. */
import * as z from "zod";
import { TextBlock, ToolChange } from "./blocks.ts";

export const SystemMessage = z
	.strictObject({
		role: z.literal("system"),
		content: z
			.union([z.string(), z.array(z.discriminatedUnion("type", [TextBlock, ToolChange]))])
			.default([]),
		output_config: z
			.strictObject({ effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullish() })
			.nullish(),
		clear_at: z.enum(["next_user_message", "never"]).nullish(),
	})
	.refine(({ content, output_config }) => content.length > 0 || output_config?.effort != null, {
		message: "a system message needs content or output_config",
	});
type SystemMessage = z.output<typeof SystemMessage>;

export const block_binding = z
	.strictObject({ prefix_mismatch_behavior: z.enum(["error", "drop_block"]).nullish() })
	.nullish();

/** The second is Claude Code's (`per_message_effort`, version 2.1.332). */
const EFFORT_IN_CONVERSATION = ["mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"];

interface BetaBody {
	messages: readonly (SystemMessage | { role: "user" | "assistant" })[];
	thinking?: { type: string; block_binding?: unknown } | undefined;
}

/** The path of a field that none of the betas allows. */
export function pathWithoutBeta(
	{ messages, thinking }: BetaBody,
	betas: readonly string[],
): string | undefined {
	const lacks = (...names: string[]): boolean => !names.some((name) => betas.includes(name));
	if (thinking?.block_binding != null && lacks("thinking-binding-controls-2026-08-01"))
		return `thinking.${thinking.type}.block_binding`;
	for (const [place, message] of messages.entries()) {
		if (message.role !== "system") continue;
		if (message.output_config != null && lacks(...EFFORT_IN_CONVERSATION))
			return `messages.${place}.output_config`;
		if (message.clear_at != null && lacks("mid-conversation-system-clear-at-2026-08-21"))
			return `messages.${place}.clear_at`;
		for (const [index, block] of Object.entries(message.content)) {
			if (typeof block === "string" || block.type === "text") continue;
			const isInline = block.tool.type === "tool_definition";
			if (lacks("inline-tools-2026-09-15", ...(isInline ? [] : ["mid-conversation-tool-changes-2026-07-01"])))
				return `messages.${place}.content.${index}.tool`;
		}
	}
	return undefined;
}
