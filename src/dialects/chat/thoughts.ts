/**
 * Thoughts in plain text. Engines send them apart from the reply; dialects that have one text for both put them in
 * front of it, in the `<think>` block that such models write, for models that the catalogue says think. From any other
 * model nobody expects thoughts, and they are left out.
 */
import { can, type Model } from "../../models/model.ts";
import type { AssistantMessage, ChatDelta } from "../../tasks/text-generation/types.ts";
import { reasoningOf } from "./chunks.ts";

const OPEN = "<think>\n";
const CLOSE = "\n</think>\n\n";

/** The text of each delta in turn. What is cut short while it thinks stays open, as the model would have left it. */
export function speech(model: Model): (delta: ChatDelta) => string {
	const aloud = can(model, "reasoning");
	let thinking = false;
	return (delta) => {
		let out = "";
		const thought = aloud ? reasoningOf(delta) : "";
		if (thought) {
			if (!thinking) out += OPEN;
			thinking = true;
			out += thought;
		}
		const text = delta.content || delta.refusal || "";
		if (thinking && (text || delta.tool_calls?.length)) {
			out += CLOSE;
			thinking = false;
		}
		return out + text;
	};
}

/** The text of a whole message: the same as that of its stream. */
export const spoken = (
	{ content, refusal, reasoning_content, reasoning, tool_calls }: AssistantMessage,
	model: Model,
): string =>
	speech(model)({
		content,
		refusal,
		reasoning_content,
		reasoning,
		tool_calls: tool_calls?.map((call, index) => ({ index, ...call })) ?? null,
	});
