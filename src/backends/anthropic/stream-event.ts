/** The events of a message's stream: https://docs.anthropic.com/en/docs/build-with-claude/streaming. */
import * as z from "zod";
import { SentCounts } from "../../core/usage-formats.ts";
import { SentBlock } from "./reply.ts";

const text = z.string().nullish();

export const Event = z.looseObject({
	type: z.string(),
	index: z.number().nullish(),
	message: z.looseObject({ id: text, model: text, usage: SentCounts }).nullish(),
	content_block: SentBlock.nullish(),
	delta: z
		.looseObject({
			type: text,
			text,
			thinking: text,
			signature: text,
			partial_json: text,
			/** One citation of the block's text. */
			citation: z.unknown().optional(),
			stop_reason: text,
			stop_sequence: text,
		})
		.nullish(),
	usage: SentCounts,
});
export type Event = z.output<typeof Event>;

/** Deltas of blocks whose type they name. */
const BLOCKS: Readonly<Record<string, SentBlock>> = {
	text_delta: { type: "text", text: "" },
	citations_delta: { type: "text", text: "" },
	thinking_delta: { type: "thinking", thinking: "", signature: "" },
	signature_delta: { type: "thinking", thinking: "", signature: "" },
};
const KNOWN_BLOCKS: ReadonlySet<string> = new Set(["text", "thinking", "tool_use"]);

/** The types of the blocks that have begun and not ended, by their index. */
type OpenBlocks = ReadonlyMap<number, string>;

/**
 * Servers with Anthropic's API may send a delta before its block has begun, or after it has ended, which clients cannot read. Returns
 * the start of its block. `drop`: the block is not known, such as that of arguments. `undefined`: the block has begun.
 */
export function missingStart({ type, index, delta }: Event, open: OpenBlocks): Event | "drop" | undefined {
	if (type !== "content_block_delta") return undefined;
	const block = BLOCKS[delta?.type ?? ""];
	const opened = open.get(index ?? 0);
	const fits = !block || opened === block.type || !KNOWN_BLOCKS.has(opened ?? "");
	if (opened !== undefined && fits) return undefined;
	return block ? { type: "content_block_start", index, content_block: { ...block } } : "drop";
}
