/**
 * Finds the answer in a reply, or in an event of a stream, whose choices are not where OpenAI has them.
 *
 * Observed: choices in `result`, `data` or `response`; one choice in the place of the list; a message, a delta or a text without
 * choices (Ollama's own API, llama.cpp's, TGI's, proxies of Workers AI).
 */
import { isRecord } from "../../../core/json.ts";

const ENVELOPES = ["result", "data", "response", "output"] as const;
/** Envelopes around an answer. */
const MAX_DEPTH = 2;
const MESSAGES = ["delta", "message", "messages"] as const;
/** Fields with the text of an answer. A field `type` shows that an event is of another kind. */
const TEXTS = ["content", "response", "text", "generated_text", "output_text", "completion"] as const;

/** The same object if it has OpenAI's form. `undefined`: it has no answer and no usage. */
export function usualForm(sent: Record<string, unknown>, depth = 0): Record<string, unknown> | undefined {
	const { choices } = sent;
	if (Array.isArray(choices)) return sent;
	if (isRecord(choices)) return { ...sent, choices: [choices] };
	const inner = depth < MAX_DEPTH ? innerForm(sent, depth + 1) : undefined;
	if (inner) return inner;
	const choice = choiceOf(sent);
	if (!choice) return undefined;
	const usage = sent.usage ?? countsOf(sent);
	const { id, created, model } = sent;
	return { id, created, model, choices: [choice], ...(usage !== undefined && { usage }) };
}

function innerForm(sent: Record<string, unknown>, depth: number): Record<string, unknown> | undefined {
	for (const field of ENVELOPES) {
		const value = sent[field];
		const [only = value] = Array.isArray(value) && value.length === 1 ? value : [];
		const form = isRecord(only) ? usualForm(only, depth) : undefined;
		if (form) return form;
	}
	return undefined;
}

function choiceOf(sent: Record<string, unknown>): Record<string, unknown> | undefined {
	const field = MESSAGES.find((name) => typeof sent[name] === "object" && sent[name] !== null);
	const text = TEXTS.map((name) => sent[name]).find((value) => typeof value === "string");
	const hasCalls = Array.isArray(sent.tool_calls);
	const isText = sent.type === undefined && (text !== undefined || hasCalls);
	if (!field && !isText) return undefined;
	const finish_reason = endOf(sent);
	// As a delta: in streams a message repeats the answer so far.
	const delta = field ? asMessage(sent[field]) : { content: text };
	const calls = hasCalls ? { tool_calls: sent.tool_calls } : {};
	return { index: 0, delta, ...calls, ...(finish_reason !== undefined && { finish_reason }) };
}

/** Ollama: `done` and `done_reason`. llama.cpp: `stop`, `stop_type`. */
function endOf({
	finish_reason,
	finishReason,
	stop_reason,
	done,
	done_reason,
	stop,
	stop_type,
}: Record<string, unknown>): unknown {
	const named = finish_reason ?? finishReason ?? stop_reason;
	if (named !== undefined) return named;
	if (done === true) return done_reason ?? "stop";
	return stop === true ? (stop_type === "limit" ? "length" : "stop") : undefined;
}

/** The tokens of Ollama's API and of llama.cpp's. */
function countsOf({
	prompt_eval_count,
	eval_count,
	tokens_evaluated,
	tokens_predicted,
}: Record<string, unknown>): object | undefined {
	const prompt = prompt_eval_count ?? tokens_evaluated;
	const completion = eval_count ?? tokens_predicted;
	if (typeof prompt !== "number" || typeof completion !== "number") return undefined;
	return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

/** The message of a choice: an object, a text, or a list of messages, of which those of the assistant are one. */
export function asMessage(sent: unknown): unknown {
	if (!Array.isArray(sent)) return sent;
	const messages = sent.filter(isRecord).filter(({ role }) => role === undefined || role === "assistant");
	const [first = {}, ...others] = messages;
	return others.reduce<Record<string, unknown>>(joined, first);
}

function joined(before: Record<string, unknown>, after: Record<string, unknown>): Record<string, unknown> {
	const content = [before.content, after.content]
		.flat()
		.filter((part) => part !== undefined && part !== null);
	const calls = [before.tool_calls, after.tool_calls].flat().filter(isRecord);
	return {
		...before,
		...after,
		...(content.length > 0 && { content }),
		...(calls.length > 0 && { tool_calls: calls }),
	};
}
