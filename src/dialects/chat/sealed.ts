/** Sealed reasoning in an answer, for dialects that have their own fields for it. */
import type {
	ChatDelta,
	SignatureField,
	ThinkingBlock,
	ToolCall,
} from "../../tasks/text-generation/types.ts";

export const sealOfBlock = ({ signature, data }: ThinkingBlock): string => signature || data || "";

export const sealOfField = (field: SignatureField | null | undefined): string =>
	field?.google.thought_signature ?? "";

/** Passes each seal once: an answer may have one in several fields. */
export class UniqueSeals {
	#sent = "";

	/** Returns the seal, or nothing if it has been passed. Seals that are joined count as passed. */
	pass(seal: string): string {
		if (seal === "" || this.#sent.includes(seal)) return "";
		this.#sent += seal;
		return seal;
	}
}

type SealedFields = Pick<ChatDelta, "thinking_blocks" | "extra_content"> & {
	tool_calls?: readonly Pick<ToolCall, "extra_content">[] | null | undefined;
};

/**
 * Reasoning that the caller sends back with the message. Calls without an id have no other place for it. `seals`: those of the
 * earlier parts of a stream.
 */
export function sealedBlocks(
	{ thinking_blocks, tool_calls, extra_content }: SealedFields,
	seals = new UniqueSeals(),
): { thinking_blocks?: ThinkingBlock[] } {
	const blocks = (thinking_blocks ?? []).filter((block) => seals.pass(sealOfBlock(block)));
	for (const field of [extra_content, ...(tool_calls ?? []).map((call) => call.extra_content)]) {
		const data = seals.pass(sealOfField(field));
		if (data) blocks.push({ type: "redacted_thinking", data });
	}
	return blocks.length > 0 ? { thinking_blocks: blocks } : {};
}
