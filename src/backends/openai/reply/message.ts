/**
 * Reads a choice of a complete reply, or of one event of a stream, in the forms that hosts send. One reader for both: a message
 * and a delta have the same fields.
 */
import { isRecord } from "../../../core/json.ts";
import { sentCallsOf } from "./sent-calls.ts";
import { readContent, readReasoning } from "./texts.ts";

/** A message or a delta whose texts are texts. Its calls are as sent. */
export interface SentMessage {
	content?: string | null;
	reasoning_content?: string | null;
	refusal?: string | null;
	[field: string]: unknown;
}

interface SentChoice {
	index: number;
	message: SentMessage;
	/** An error in the place of an answer (OpenRouter). */
	error?: unknown;
	/** Further fields of the choice, such as `finish_reason` and `logprobs`. */
	fields: Record<string, unknown>;
}

/** @param position of the choice in its list, for hosts that send no index. */
export function readChoice(sent: unknown, position: number): SentChoice {
	if (!isRecord(sent)) return { index: position, message: {}, fields: {} };
	const { index, message, delta, text, error, ...fields } = sent;
	const part = [message, delta].find((value) => isRecord(value) || typeof value === "string") ?? {
		// Older APIs.
		...("text" in sent && { content: text }),
		...("content" in sent && { content: sent.content }),
	};
	return {
		index: typeof index === "number" ? index : position,
		message: readMessage(isRecord(part) ? part : { content: part }),
		...(error !== undefined && error !== null && { error }),
		fields,
	};
}

/** The message itself, if it needs no change. */
export function readMessage(message: Record<string, unknown>): SentMessage {
	const { content, reasoning_content, reasoning, refusal, role } = message;
	const isPlain = [content, reasoning_content, reasoning, refusal].every(isText) && isAssistant(role);
	const isReasoned = isFilled(reasoning_content) || isFilled(reasoning);
	const thoughts = isReasoned ? "" : readReasoning(message);
	if (isPlain && thoughts === "") return message;
	const texts = readContent(content);
	const added = thoughts || texts.reasoning;
	const denial = texts.refusal || refusal;
	const calls = Array.isArray(content) && sentCallsOf(message).length === 0 ? content.filter(isCall) : [];
	return {
		...message,
		...(calls.length > 0 && { tool_calls: calls }),
		...(!isAssistant(role) && { role: "assistant" }),
		...(content !== undefined && { content: texts.content ?? null }),
		...(!isText(reasoning) && { reasoning: null }),
		...(added !== "" && !isReasoned && { reasoning_content: added }),
		...(denial !== undefined && { refusal: typeof denial === "string" ? denial : null }),
	};
}

/** Whether a message, or a delta, has more than its role. */
export const hasOutput = (message: object): boolean =>
	Object.entries(message).some(
		([field, value]) =>
			field !== "role" &&
			value !== undefined &&
			value !== null &&
			value !== "" &&
			!(Array.isArray(value) && value.length === 0),
	);

/** Parts of content that are calls, in replies of proxies of Anthropic's API. */
const CALL_PARTS: ReadonlySet<unknown> = new Set(["tool_use", "tool_call", "function_call"]);
const isCall = (part: unknown): boolean => isRecord(part) && CALL_PARTS.has(part.type);

const isAssistant = (role: unknown): boolean => role === undefined || role === null || role === "assistant";

const isText = (value: unknown): boolean =>
	typeof value === "string" || value === undefined || value === null;

const isFilled = (value: unknown): boolean => typeof value === "string" && value !== "";
