/**
 * Repairs the events of one chat stream, so that every later stage reads OpenAI's chunks. An event that needs no change is returned
 * as it is. What an engine may omit without harm (id, object, created, model) is not added here.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../core/json.ts";
import { pick } from "../../../core/present.ts";
import type { ChatChunk } from "../../../tasks/text-generation/types.ts";
import { finishReasonOf, readFinishReason } from "./finish-reasons.ts";
import { readChoice } from "./message.ts";
import { sentCallsOf, type ToolCallContext } from "./sent-calls.ts";
import { ToolCallAssembler } from "./tool-calls.ts";
import { usageIn } from "./usage.ts";

type ChunkChoice = ChatChunk["choices"][number];

/** One choice of the stream so far. */
interface ChoiceState {
	calls: ToolCallAssembler;
	hasText: boolean;
	isFinished: boolean;
}

/** `failed`: the engine has given an answer up; `error` is its own error, if it sent one. */
type RepairedEvent =
	| { kind: "chunk"; chunk: Record<string, unknown> }
	| { kind: "none" }
	| { kind: "failed"; error?: unknown };

const NO_CHUNK: RepairedEvent = { kind: "none" };

export class ChatEventReader {
	readonly #context: ToolCallContext;
	readonly #choices = new Map<number, ChoiceState>();
	#last: Record<string, unknown> = {};

	constructor(context: ToolCallContext) {
		this.#context = context;
	}

	/** The most tool calls of one choice. */
	get toolCalls(): number {
		return Math.max(0, ...[...this.#choices.values()].map(({ calls }) => calls.count));
	}

	/** Reads an event that is no error. `none`: it is no part of an answer, such as a ping. */
	read(sent: Record<string, unknown>): RepairedEvent {
		return this.#readFields(withoutOddFields(sent));
	}

	#readFields(sent: Record<string, unknown>): RepairedEvent {
		const { choices } = sent;
		const usage = usageIn(sent);
		if (!Array.isArray(choices) && !usage) return NO_CHUNK;
		const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
		const repaired: ChunkChoice[] = [];
		for (const [position, choice] of list.entries()) {
			const read = this.#readChoice(choice, position);
			if ("failed" in read) return { kind: "failed", error: read.failed };
			repaired.push(read.choice);
		}
		this.#last = sent;
		const isSent =
			Array.isArray(choices) && repaired.every((choice, position) => choice === choices[position]);
		const isUsageInPlace = isRecord(sent.usage) || (!usage && isAbsent(sent.usage));
		if (isSent && isUsageInPlace) return { kind: "chunk", chunk: sent };
		return { kind: "chunk", chunk: { ...sent, choices: repaired, ...(!isUsageInPlace && { usage }) } };
	}

	/** The stream has ended. The chunk that finishes the choices that the engine left open. */
	end(): { choices: ChunkChoice[] } | undefined {
		const open = [...this.#choices].filter(([, { isFinished }]) => !isFinished);
		if (open.length === 0) return undefined;
		const heading = pick(this.#last, "id", "object", "created", "model");
		const choices = open.map(([index, state]): ChunkChoice => {
			const tool_calls = state.calls.finish();
			state.isFinished = true;
			const delta = tool_calls.length > 0 ? { tool_calls } : {};
			return { index, delta, finish_reason: finishReasonOf(undefined, state.calls.state) ?? null };
		});
		return { ...heading, choices };
	}

	/** Returns the choice itself if it needs no change. */
	#readChoice(sent: unknown, position: number): { choice: ChunkChoice } | { failed: unknown } {
		if (isPlain(sent)) {
			this.#stateOf(sent.index).hasText ||= hasText(sent.delta);
			return { choice: sent };
		}
		const { index, message, error, fields } = readChoice(sent, position);
		if (error !== undefined) return { failed: error };
		const state = this.#stateOf(index);
		const isSummary = isRecord(sent) && !isRecord(sent.delta) && isRecord(sent.message) && state.hasText;
		const { tool_calls, function_call: _, ...texts } = message;
		// MiniMax repeats the complete answer in its last event.
		const pieces = isSummary ? [] : state.calls.add(sentCallsOf(message));
		const reason = readFinishReason(fields.finish_reason);
		if (reason !== undefined) pieces.push(...state.calls.finish());
		const finish = this.#finish(state, reason);
		if (finish === undefined) return { failed: undefined };
		const calls = pieces.length > 0 ? { tool_calls: pieces } : tool_calls === null ? { tool_calls } : {};
		const delta = isSummary ? {} : { ...texts, ...calls };
		state.hasText ||= hasText(delta);
		const choice = { ...fields, index, delta, finish_reason: finish };
		if (isRecord(sent) && isDeepStrictEqual({ finish_reason: null, ...sent }, choice))
			return { choice: sent as unknown as ChunkChoice };
		return { choice };
	}

	/** `null` before the end. `undefined`: the answer has failed. */
	#finish(state: ChoiceState, reason: string | undefined): string | null | undefined {
		if (reason === undefined) return null;
		state.isFinished = true;
		const hasCalls = state.calls.count > 0;
		// The engine broke off inside the arguments.
		if (reason === "error" && hasCalls && !state.calls.isComplete) return undefined;
		return finishReasonOf(reason, state.calls.state);
	}

	#stateOf(index: number): ChoiceState {
		const known = this.#choices.get(index);
		if (known) return known;
		const state = { calls: new ToolCallAssembler(this.#context), hasText: false, isFinished: false };
		this.#choices.set(index, state);
		return state;
	}
}

/** The event without the fields of its heading that have another type than OpenAI's. */
function withoutOddFields(sent: Record<string, unknown>): Record<string, unknown> {
	const { id, object, created, model, ...fields } = sent;
	const isUsual =
		isText(id) && isText(object) && isText(model) && (isAbsent(created) || typeof created === "number");
	if (isUsual) return sent;
	return {
		...(typeof id === "string" && { id }),
		...(typeof object === "string" && { object }),
		...(typeof created === "number" && { created }),
		...(typeof model === "string" && { model }),
		...fields,
	};
}

/** Whether a choice is a piece of text in OpenAI's form. Most are, and this check takes a tenth of the reader's time. */
function isPlain(choice: unknown): choice is ChunkChoice {
	if (!isRecord(choice) || typeof choice.index !== "number" || !isRecord(choice.delta)) return false;
	const { finish_reason, delta, error, usage } = choice;
	const { role, content, refusal, reasoning_content, reasoning, reasoning_details, thinking } = delta;
	return (
		isAbsent(finish_reason) &&
		isAbsent(error) &&
		isAbsent(usage) &&
		isText(content) &&
		isText(refusal) &&
		isText(reasoning_content) &&
		isText(reasoning) &&
		(isAbsent(role) || role === "assistant") &&
		isAbsent(reasoning_details) &&
		isAbsent(delta.reasoning_text) &&
		isAbsent(thinking) &&
		isAbsent(delta.tool_calls) &&
		isAbsent(delta.function_call)
	);
}

const isAbsent = (value: unknown): boolean => value === undefined || value === null;
const isText = (value: unknown): boolean => isAbsent(value) || typeof value === "string";

const hasText = ({ content, reasoning_content, reasoning }: ChunkChoice["delta"]): boolean =>
	!!content || !!reasoning_content || !!reasoning;
