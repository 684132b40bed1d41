/**
 * Gemini's signatures on Google's OpenAI route: `extra_content.google.thought_signature` of a tool call, and of a message. Gemini
 * 3 requires them back with the calls, and refuses those of others:
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
import { isRecord } from "../../core/json.ts";
import type { ChatCompletion, ChatMessage, ToolCall } from "../../tasks/text-generation/types.ts";
import { openSignatures, sealSignature, unsignedCall } from "../gemini-signatures.ts";
import type { Seals } from "../seals.ts";
import type { ReviseChunk } from "../transport/chunk-stream.ts";
import type { Call } from "../transport/upstream-failure.ts";

type Signed = Pick<ChatMessage, "tool_calls" | "extra_content">;

/** The fields of an assistant's message that hold signatures. */
export function signedFields(message: ChatMessage, seals: Seals | undefined, call: Call): Signed {
	if (message.role !== "assistant") return {};
	const signatures = openSignatures(message, seals, call);
	const ofText = signatures.get("text");
	return {
		...(ofText !== undefined && { extra_content: { google: { thought_signature: ofText } } }),
		...(message.tool_calls && {
			tool_calls: message.tool_calls.map(({ extra_content: _, ...toolCall }, index): ToolCall => {
				const signature = signatures.get(index) ?? unsignedCall(index, call.target);
				return signature === undefined
					? toolCall
					: { ...toolCall, extra_content: { google: { thought_signature: signature } } };
			}),
		}),
	};
}

export function sealCompletion(reply: ChatCompletion, seals: Seals | undefined): ChatCompletion {
	const choices = reply.choices.map((choice) => ({ ...choice, message: sealFields(choice.message, seals) }));
	return { ...reply, choices };
}

/** Seals the signatures in chunks. */
export const chunkSealer =
	(seals: Seals | undefined): ReviseChunk =>
	(chunk) => {
		if (!("choices" in chunk) || !Array.isArray(chunk.choices)) return undefined;
		if (!chunk.choices.some((choice) => isRecord(choice) && isRecord(choice.delta) && isSigned(choice.delta)))
			return undefined;
		const choices = chunk.choices.map((choice: unknown) =>
			isRecord(choice) && isRecord(choice.delta)
				? { ...choice, delta: sealFields(choice.delta, seals) }
				: choice,
		);
		return { choices };
	};

const isSigned = ({ extra_content, tool_calls }: Record<string, unknown>): boolean =>
	extra_content !== undefined ||
	(Array.isArray(tool_calls) &&
		tool_calls.some((call) => isRecord(call) && call.extra_content !== undefined));

/** Replaces the signatures of a message or a delta by seals. `index` counts the calls of the message. */
function sealFields<Fields extends object>(fields: Fields, seals: Seals | undefined): Fields {
	const { extra_content, tool_calls, ...others } = fields as Record<string, unknown>;
	return {
		...others,
		...sealedField(extra_content, "text", seals),
		...(Array.isArray(tool_calls)
			? {
					tool_calls: tool_calls.map((toolCall: unknown, position) => {
						if (!isRecord(toolCall)) return toolCall;
						const { extra_content: signed, ...call } = toolCall;
						const index = typeof call.index === "number" ? call.index : position;
						return { ...call, ...sealedField(signed, index, seals) };
					}),
				}
			: tool_calls !== undefined && { tool_calls }),
	} as Fields;
}

function sealedField(field: unknown, place: number | "text", seals: Seals | undefined): object {
	const google = isRecord(field) && isRecord(field.google) ? field.google : {};
	const { thought_signature: signature } = google;
	if (typeof signature !== "string") return {};
	const seal = sealSignature({ place, signature }, seals);
	return seal === undefined ? {} : { extra_content: { google: { thought_signature: seal } } };
}
