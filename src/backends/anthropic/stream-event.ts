/** The events of a message's stream: https://docs.anthropic.com/en/docs/build-with-claude/streaming. */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
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
	message: z
		.looseObject({
			id: text,
			model: text,
			/** Empty at Anthropic. */
			content: z.array(SentBlock).nullish().catch(undefined),
			usage: SentCounts,
		})
		.nullish(),
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
	/** Of servers that have it beside the delta of the message. */
	stop_reason: text,
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

const startOf = (index: Event["index"], content_block: SentBlock): Event => ({
	type: "content_block_start",
	index,
	content_block: { ...content_block },
});
export const endOf = (index: number): Event => ({ type: "content_block_stop", index });

/**
 * An event with those that servers with Anthropic's API omit, which clients need: the starts and ends of blocks. Empty: it is a piece of
 * a block that is not known, such as that of arguments.
 */
export function completeEvents(event: Event, open: OpenBlocks): Event[] {
	const { type, message, index } = event;
	switch (type) {
		case "message_start": {
			const blocks = message?.content ?? [];
			return [event, ...blocks.flatMap((block, at) => [startOf(at, block), endOf(at)])];
		}
		case "content_block_start":
			return open.has(index ?? 0) ? [endOf(index ?? 0), event] : [event];
		case "content_block_delta":
			return completeDelta(event, open);
		case "message_delta":
		case "message_stop":
			return [...[...open.keys()].map(endOf), event];
		default:
			return [event];
	}
}

/** A delta may come before its block has begun, or after it has ended. */
function completeDelta(event: Event, open: OpenBlocks): Event[] {
	const { index, delta } = event;
	const block = own(BLOCKS, delta?.type ?? undefined);
	const opened = open.get(index ?? 0);
	const fits = !block || opened === block.type || !KNOWN_BLOCKS.has(opened ?? "");
	if (opened !== undefined && fits) return [event];
	if (!block) return [];
	const end = opened === undefined ? [] : [endOf(index ?? 0)];
	return [...end, startOf(index, block), event];
}
