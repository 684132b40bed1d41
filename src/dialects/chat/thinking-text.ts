/**
 * Reasoning inside plain text. Engines send it in a field of its own. Dialects with one text field put it before the
 * answer in a `<think>` block, for models that the catalogue marks as reasoning models. For other models it is omitted.
 */
import { can, type Model } from "../../models/model.ts";
import type { AssistantMessage, ChatDelta } from "../../tasks/text-generation/types.ts";
import { reasoningOf } from "./chunks.ts";

const OPEN = "<think>\n";
const CLOSE = "\n</think>\n\n";

/** Returns the text of each delta of one stream. If the stream ends inside the reasoning, the block stays open. */
export function deltaTextWriter(model: Model): (delta: ChatDelta) => string {
	const showsReasoning = can(model, "reasoning");
	let isOpen = false;
	return (delta) => {
		let out = "";
		const reasoning = showsReasoning ? reasoningOf(delta) : "";
		if (reasoning) {
			if (!isOpen) out += OPEN;
			isOpen = true;
			out += reasoning;
		}
		const text = delta.content || delta.refusal || "";
		if (isOpen && (text || delta.tool_calls?.length)) {
			out += CLOSE;
			isOpen = false;
		}
		return out + text;
	};
}

/** The text of a complete message, equal to the text of its stream. */
export const messageText = (
	{ content, refusal, reasoning_content, reasoning, tool_calls }: AssistantMessage,
	model: Model,
): string =>
	deltaTextWriter(model)({
		content,
		refusal,
		reasoning_content,
		reasoning,
		tool_calls: tool_calls?.map((call, index) => ({ index, ...call })) ?? null,
	});
