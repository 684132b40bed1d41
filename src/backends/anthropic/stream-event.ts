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
