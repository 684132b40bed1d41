/** Collects the chunks of a stream to a complete answer, for upstreams that stream although no stream was requested. */
import { isRecord } from "../core/json.ts";
import { laterUsage, type Usage } from "../core/usage.ts";
import type { ChatChunk, ChatCompletion, ChatDelta } from "../tasks/text-generation/types.ts";

interface CollectedCall extends Record<string, unknown> {
	function: { name: string; arguments: string };
}

interface CollectedChoice extends Record<string, unknown> {
	index: number;
	message: Record<string, unknown> & { tool_calls?: CollectedCall[] };
	finish_reason: string | null;
}

/** Fields of a delta that continue the text of the message. */
const TEXTS = ["content", "reasoning_content", "reasoning", "refusal"] as const;
/** Fields of a delta that continue a list of the message. */
const LISTS = ["thinking_blocks", "annotations", "reasoning_details"] as const;
/** Fields of a delta that the message has once. */
const ONCE = ["extra_content", "phase"] as const;

export class ChunkCollector {
	#heading: Record<string, unknown> | undefined;
	#usage: Usage | undefined;
	readonly #choices = new Map<number, CollectedChoice>();

	add(chunk: Pick<ChatChunk, "choices"> & Record<string, unknown>): void {
		this.#heading ??= chunk;
		this.#usage = laterUsage(this.#usage, chunk.usage as Usage | null | undefined);
		for (const { index, delta, finish_reason, logprobs, ...fields } of chunk.choices) {
			const choice = this.#choices.get(index) ?? { index, message: {}, finish_reason: null };
			this.#choices.set(index, Object.assign(choice, fields));
			addDelta(choice.message, delta);
			choice.finish_reason = finish_reason ?? choice.finish_reason;
			if (logprobs) choice.logprobs = joinedLogprobs(choice.logprobs, logprobs);
		}
	}

	/** `undefined`: an answer has not ended. */
	completion(): ChatCompletion | undefined {
		const choices = [...this.#choices.values()];
		if (!this.#heading || choices.some(({ finish_reason }) => finish_reason === null)) return undefined;
		const collected = { ...this.#heading, object: "chat.completion", choices, usage: this.#usage };
		return collected as unknown as ChatCompletion;
	}
}

function addDelta(message: CollectedChoice["message"], delta: ChatDelta): void {
	for (const field of TEXTS) {
		const text = delta[field];
		if (typeof text === "string") message[field] = `${message[field] ?? ""}${text}`;
	}
	for (const field of LISTS) {
		const list = delta[field];
		if (list?.length) message[field] = [...((message[field] as unknown[] | undefined) ?? []), ...list];
	}
	for (const field of ONCE) if (delta[field] !== undefined) message[field] = delta[field];
	for (const { index, function: called, ...fields } of delta.tool_calls ?? []) {
		message.tool_calls ??= [];
		message.tool_calls[index] ??= { function: { name: "", arguments: "" } };
		const call = message.tool_calls[index];
		Object.assign(call, fields);
		call.function.name ||= called?.name ?? "";
		call.function.arguments += called?.arguments || "";
	}
}

function joinedLogprobs(before: unknown, after: unknown): unknown {
	if (!isRecord(before) || !isRecord(after)) return after;
	if (!Array.isArray(before.content) || !Array.isArray(after.content)) return after;
	return { ...after, content: [...before.content, ...after.content] };
}
