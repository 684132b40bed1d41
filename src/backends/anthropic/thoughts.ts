/**
 * Thinking blocks between a conversation and the API. Their signatures and data travel in seals with the complete block, because the
 * API refuses a block that has changed.
 */
import * as z from "zod";
import { safeParse } from "../../schemas/safe-parse.ts";
import type { ThinkingBlock } from "../../tasks/text-generation/types.ts";
import { DROPPED_SEAL, type Seals } from "../seals.ts";
import type { Call } from "../transport/upstream-failure.ts";

/** A content block. */
export interface AnthropicBlock {
	type: string;
	[field: string]: unknown;
}

const SealedBlock = z.object({
	block: z.looseObject({ type: z.enum(["thinking", "redacted_thinking"]) }),
});

export const isThought = (block: Pick<AnthropicBlock, "type"> | undefined): boolean =>
	block?.type === "thinking" || block?.type === "redacted_thinking";

/** A block of the API with a seal in place of its signature or data. `undefined`: it cannot be sent back. */
export function sealThought(block: AnthropicBlock, seals: Seals | undefined): ThinkingBlock | undefined {
	const { thinking, signature, data } = block;
	const isRedacted = block.type === "redacted_thinking";
	const seal = (isRedacted ? data : signature) ? seals?.seal({ block }) : undefined;
	if (seal === undefined) return undefined;
	return isRedacted
		? { type: "redacted_thinking", data: seal }
		: { type: "thinking", thinking: String(thinking ?? ""), signature: seal };
}

/** The blocks of the API in the values of opened seals. */
export function thoughtsIn(values: readonly unknown[], { report }: Pick<Call, "report">): AnthropicBlock[] {
	return values.flatMap((value) => {
		const { data } = safeParse(SealedBlock, value);
		if (!data) report?.dropped.push(DROPPED_SEAL);
		return data?.block ?? [];
	});
}
