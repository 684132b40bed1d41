/** What was read of a message: of a complete one, or of the events of a stream. */
import { type KnownFields, type OutputState, stateOf, stateOfAll } from "../output-state.ts";

const BLOCK: KnownFields = {
	output: new Set(["text", "thinking", "signature", "data"]),
	other: new Set(["type", "id", "name", "partial_json"]),
};
const MESSAGE: KnownFields = {
	output: new Set(),
	other: new Set(["type", "id", "role", "model", "stop_reason", "stop_sequence"]),
};

/** Calls, and the blocks of Anthropic's own tools. They have no text of their own. */
const OTHER_BLOCKS = /tool_use$|tool_result$|^container_upload$|^compaction$/;

/** What a block has, or a delta of one. */
export function blockState(block: { type?: string | null | undefined }): OutputState {
	if (OTHER_BLOCKS.test(block.type ?? "")) return "some";
	return stateOfAll([stateOf(block, BLOCK)]);
}

/** What a complete message has. */
export const messageState = (
	{ content, ...fields }: { content?: unknown },
	blocks: readonly { type: string }[],
): OutputState => stateOfAll([stateOf(fields, MESSAGE), ...blocks.map(blockState)]);
