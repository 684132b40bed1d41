/**
 * Ids of tool calls for hosts that accept only some. A conversation may have been answered by another model, whose ids do not fit:
 * OpenAI answers 400 ("string too long"), Mistral too ("must be a-z, A-Z, 0-9, with a length of 9"). An id that does not fit is
 * replaced by a hash of it, so that a call and its result have the same, in every turn.
 */
import { fnv1a } from "../../core/fnv.ts";
import type { ChatMessage } from "../../tasks/text-generation/types.ts";

/** Characters of a replaced id. Mistral requires this number. */
const HASH_CHARACTERS = 9;
const HASH_BASE = 36;

/** `fits`: the ids that the host accepts. */
export const fittingId = (id: string, fits: RegExp): string => (fits.test(id) ? id : hashOf(id));

export function withFittingIds<Message extends Pick<ChatMessage, "tool_call_id" | "tool_calls">>(
	message: Message,
	fits: RegExp,
): Message {
	const { tool_call_id: resultOf, tool_calls: calls } = message;
	if (resultOf === undefined && !calls) return message;
	return {
		...message,
		...(resultOf !== undefined && { tool_call_id: fittingId(resultOf, fits) }),
		...(calls && { tool_calls: calls.map((call) => ({ ...call, id: fittingId(call.id, fits) })) }),
	};
}

function hashOf(id: string): string {
	const first = fnv1a(id);
	const text = first.toString(HASH_BASE) + fnv1a(id, first).toString(HASH_BASE);
	return text.slice(0, HASH_CHARACTERS).padEnd(HASH_CHARACTERS, "0");
}
