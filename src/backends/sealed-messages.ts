/** The sealed reasoning of the messages of a request. */
import { isRecord } from "../core/json.ts";
import type { ChatMessage, ToolCall } from "../tasks/text-generation/types.ts";
import type { Seals } from "./seals.ts";

/** The values in all seals of an assistant's message. A caller may send one seal in several fields. */
export function openMessage(message: ChatMessage, seals: Seals | undefined): unknown[] {
	const { thinking_blocks = [], extra_content, tool_calls = [] } = message;
	const blocks = [...new Set(thinking_blocks.map(({ signature, data }) => signature || data || ""))].join("");
	const fields = [extra_content, ...tool_calls.map((call) => call.extra_content)].map(
		(field) => field?.google.thought_signature ?? "",
	);
	const texts = new Set([blocks, ...fields.filter((text) => !blocks.includes(text))]);
	return [...texts].flatMap((text) => (text && seals ? seals.open(text) : []));
}

/** The field of a call for the seals of the reasoning before it. Many chat clients send back this field alone. */
export const callSeal = (seals: string): Pick<ToolCall, "extra_content"> =>
	seals ? { extra_content: { google: { thought_signature: seals } } } : {};

/** Whether it is one of OpenRouter's `reasoning_details` with a seal. */
export const isSealedDetail = (detail: unknown): boolean =>
	isRecord(detail) && Boolean(detail.signature || detail.data);

/** Whether a request has reasoning in a seal. */
export const hasSignatures = (messages: readonly ChatMessage[]): boolean =>
	messages.some(
		({ thinking_blocks, extra_content, tool_calls }) =>
			thinking_blocks?.some(({ signature, data }) => signature || data) ||
			extra_content?.google.thought_signature ||
			tool_calls?.some((call) => call.extra_content?.google.thought_signature),
	);

/** Removes the signatures of other providers' models. */
export function withoutSignatures({
	thinking_blocks: _,
	reasoning_details: _details,
	extra_content: _signature,
	phase: _phase,
	tool_calls,
	...message
}: ChatMessage): Omit<ChatMessage, "thinking_blocks" | "reasoning_details" | "extra_content" | "phase"> {
	if (!tool_calls) return message;
	return { ...message, tool_calls: tool_calls.map(({ extra_content: _, ...call }) => call) };
}
