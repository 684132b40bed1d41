/** Replies and events of Gemini's API in the forms that proxies and copies of it send, as the API's own. */
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";

/** Names in the case of Python's libraries. */
const NAMES: Readonly<Record<string, string>> = {
	finish_reason: "finishReason",
	function_call: "functionCall",
	inline_data: "inlineData",
	thought_signature: "thoughtSignature",
	usage_metadata: "usageMetadata",
	prompt_feedback: "promptFeedback",
	model_version: "modelVersion",
	response_id: "responseId",
};

function withUsualNames(sent: Record<string, unknown>): Record<string, unknown> {
	if (!Object.keys(sent).some((name) => Object.hasOwn(NAMES, name))) return sent;
	return Object.fromEntries(Object.entries(sent).map(([name, value]) => [own(NAMES, name) ?? name, value]));
}

const listOf = (sent: unknown): unknown => (isRecord(sent) || typeof sent === "string" ? [sent] : sent);

function usualPart(sent: unknown): unknown {
	if (typeof sent === "string") return { text: sent };
	return isRecord(sent) ? withUsualNames(sent) : sent;
}

/** A text, parts, or an object with parts or a text. */
function usualContent(sent: unknown): unknown {
	if (typeof sent === "string" || Array.isArray(sent)) return usualContent({ parts: sent });
	if (!isRecord(sent)) return sent;
	const { text, ...content } = sent;
	const parts = listOf(content.parts ?? (typeof text === "string" ? text : undefined));
	return Array.isArray(parts) ? { ...content, parts: parts.map(usualPart) } : sent;
}

function usualCandidate(sent: unknown): unknown {
	if (!isRecord(sent)) return sent;
	const { finishReason, ...candidate } = withUsualNames(sent);
	const reason = typeof finishReason === "string" ? finishReason.toUpperCase() : finishReason;
	return {
		...candidate,
		...(candidate.content !== undefined && { content: usualContent(candidate.content) }),
		...(reason !== undefined && { finishReason: reason }),
	};
}

/** A complete reply, or one event. Some proxies put it into `response`. */
export function usualEvent(sent: unknown): unknown {
	if (!isRecord(sent)) return sent;
	if (isRecord(sent.response) && sent.candidates === undefined) return usualEvent(sent.response);
	const event = withUsualNames(sent);
	const candidates = listOf(event.candidates);
	return Array.isArray(candidates) ? { ...event, candidates: candidates.map(usualCandidate) } : event;
}
