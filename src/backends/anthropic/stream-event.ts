/** The events of a message's stream: https://docs.anthropic.com/en/docs/build-with-claude/streaming. */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { SentCounts } from "../../core/usage-formats.ts";
import { SentBlock } from "./reply.ts";

const text = z.string().nullish();

/** Servers with Anthropic's API may send the complete object. */
const piece = z.unknown().transform((sent) => {
	if (isRecord(sent)) return JSON.stringify(sent);
	return typeof sent === "string" ? sent : undefined;
});

/** Deltas of blocks by the field that they have. */
const DELTA_TYPES = [
	["text", "text_delta"],
	["thinking", "thinking_delta"],
	["signature", "signature_delta"],
	["partial_json", "input_json_delta"],
] as const;
const KNOWN_DELTAS: ReadonlySet<unknown> = new Set([
	...DELTA_TYPES.map(([, type]) => type),
	"citations_delta",
]);

/** A delta with another type, or without one, has the type of its field. The delta of a message has none of them. */
function usualDelta(sent: unknown): unknown {
	if (typeof sent === "string") return { type: "text_delta", text: sent };
	if (!isRecord(sent) || KNOWN_DELTAS.has(sent.type)) return sent;
	const type = DELTA_TYPES.find(([field]) => sent[field] !== undefined)?.[1];
	return type === undefined ? sent : { ...sent, type };
}

export const Event = z.looseObject({
	type: z.string(),
	index: z.number().nullish(),
	message: z.looseObject({ id: text, model: text, usage: SentCounts }).nullish(),
	content_block: SentBlock.nullish(),
	delta: z.preprocess(
		usualDelta,
		z
			.looseObject({
				type: text,
				text,
				thinking: text,
				signature: text,
				partial_json: piece.optional(),
				/** One citation of the block's text. */
				citation: z.unknown().optional(),
				stop_reason: text,
				stop_sequence: text,
			})
			.nullish(),
	),
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
