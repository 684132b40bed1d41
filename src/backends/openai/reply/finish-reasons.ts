/**
 * The finish reasons of engines, as OpenAI's. Clients with typed replies refuse any other value. A reason that is not in the table
 * says that the answer has ended, so it is `stop`.
 */
import { own } from "../../../core/own.ts";
import { isUnread, type OutputState } from "../../output-state.ts";

/** The answer is not complete: the engine gave it up. */
const FAILED = "error";

const REASONS: Readonly<Record<string, string>> = {
	stop: "stop",
	length: "length",
	tool_calls: "tool_calls",
	content_filter: "content_filter",
	function_call: "tool_calls",
	// Anthropic's, in replies of proxies
	tool_use: "tool_calls",
	max_tokens: "length",
	refusal: "content_filter",
	// Cohere, Amazon Bedrock
	tool_call: "tool_calls",
	error_toxic: "content_filter",
	error_limit: "length",
	guardrail_intervened: "content_filter",
	content_filtered: "content_filter",
	// OpenAI's Responses; engines of Hugging Face
	max_output_tokens: "length",
	max_length: "length",
	max_new_tokens: "length",
	// Mistral; models whose context is full
	model_length: "length",
	model_context_window_exceeded: "length",
	// Gemini
	safety: "content_filter",
	recitation: "content_filter",
	blocklist: "content_filter",
	prohibited_content: "content_filter",
	spii: "content_filter",
	// Zhipu, MiniMax, Alibaba
	sensitive: "content_filter",
	data_inspection_failed: "content_filter",
	network_error: FAILED,
	// DeepSeek
	insufficient_system_resource: FAILED,
	// vLLM, SGLang, Mistral
	abort: FAILED,
	error: FAILED,
	cancelled: FAILED,
	timeout: FAILED,
	malformed_function_call: FAILED,
};

/** `undefined`: the engine sent none, or not yet. Some engines send "" until the choice has finished. */
export function readFinishReason(sent: unknown): string | undefined {
	if (typeof sent !== "string" || sent === "") return undefined;
	// Google's OpenAI route: "function_call_filter: MALFORMED_FUNCTION_CALL".
	const name = sent
		.slice(sent.lastIndexOf(":") + 1)
		.trim()
		.toLowerCase()
		.replaceAll("-", "_");
	return own(REASONS, name) ?? "stop";
}

/** The tool calls of a choice. `cut`: the arguments of one are not complete. */
export type CallState = "none" | "complete" | "cut";

/**
 * The reason of a complete choice. Calls decide, whatever the engine claims, unless its output was cut at a limit or by a filter: a
 * caller must not run a call whose arguments are not complete.
 * `undefined`: the engine gave the answer up ({@link isGivenUp}), or nothing in it could be read.
 */
export function finishReasonOf(
	reason: string | undefined,
	calls: CallState,
	output: OutputState,
): string | undefined {
	if (calls === "cut" && reason !== FAILED) return reason === "content_filter" ? reason : "length";
	if (calls === "complete") return reason === "length" || reason === "content_filter" ? reason : "tool_calls";
	if (reason === FAILED) return undefined;
	if (isUnread(output, reason)) return undefined;
	return reason === undefined || reason === "tool_calls" ? "stop" : reason;
}

/** Whether the engine says with its reason that it gave the answer up. */
export const isGivenUp = (reason: string | undefined): boolean => reason === FAILED;
