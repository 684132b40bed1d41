/**
 * Repairs the events of one chat stream, so that every later stage reads OpenAI's chunks. An event that needs no change is returned
 * as it is. What an engine may omit without harm (id, object, created, model) is not added here.
 */
import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../../core/json.ts";
import { pick } from "../../../core/present.ts";
import type { ChatChunk } from "../../../tasks/text-generation/types.ts";
import { OutputCheck } from "../../output-state.ts";
import { finishReasonOf, isGivenUp, readFinishReason } from "./finish-reasons.ts";
import { usualForm } from "./forms.ts";
import { outputState, readChoice } from "./message.ts";
import { sentCallsOf, type ToolCallContext } from "./sent-calls.ts";
import { ToolCallAssembler } from "./tool-calls.ts";
import { usageIn } from "./usage.ts";

type ChunkChoice = ChatChunk["choices"][number];

/** One choice of the stream so far. */
interface ChoiceState {
	calls: ToolCallAssembler;
	output: OutputCheck;
	isFinished: boolean;
}

/**
 * `failed`: the engine has given an answer up; `error` is its own error, if it sent one. `unread`: nothing in it could be read; `sent` is
 * for the log.
 */
export type RepairedEvent =
	| { kind: "chunk"; chunk: Record<string, unknown> }
	| { kind: "none" }
	| { kind: "unread"; sent: unknown }
	| { kind: "failed"; error?: unknown };

const hasOutput = ({ calls, output }: ChoiceState): boolean => output.state === "some" || calls.count > 0;

type NoAnswer = Extract<RepairedEvent, { kind: "failed" | "unread" }>;

const NO_CHUNK: RepairedEvent = { kind: "none" };

export class ChatEventReader {
	readonly #context: ToolCallContext;
	readonly #count: number;
	readonly #choices = new Map<number, ChoiceState>();
	/** The index that the engine gives to the only choice. */
	#only: number | undefined;
	#last: Record<string, unknown> = {};

	/** @param count the requested number of choices. */
	constructor(context: ToolCallContext, count: number) {
		this.#context = context;
		this.#count = count;
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
		const form = usualForm(sent);
		if (form && form !== sent) return this.read(form);
		const { choices } = sent;
		const usage = usageIn(sent);
		if (!Array.isArray(choices) && !usage) return NO_CHUNK;
		const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
		const repaired: ChunkChoice[] = [];
		for (const [position, choice] of list.entries()) {
			const read = this.#readChoice(choice, position);
			if (read === undefined) continue;
			if (!("choice" in read)) return read;
			repaired.push(read.choice);
		}
		this.#last = sent;
		if (repaired.length === 0 && list.length > 0 && !usage) return NO_CHUNK;
		const isSent =
			Array.isArray(choices) &&
			repaired.length === choices.length &&
			repaired.every((choice, position) => choice === choices[position]);
		const isUsageInPlace = isRecord(sent.usage) || (!usage && isAbsent(sent.usage));
		if (isSent && isUsageInPlace) return { kind: "chunk", chunk: sent };
		return { kind: "chunk", chunk: { ...sent, choices: repaired, ...(!isUsageInPlace && { usage }) } };
	}

	/** The stream has ended. Returns the chunk that finishes the choices that the engine left open. */
	end(): RepairedEvent {
		const open = [...this.#choices].filter(([, { isFinished }]) => !isFinished);
		if (open.length === 0) return NO_CHUNK;
		const choices: ChunkChoice[] = [];
		for (const [index, state] of open) {
			const tool_calls = state.calls.finish();
			const finish_reason = finishReasonOf(undefined, state.calls.state, state.output.state);
			if (finish_reason === undefined) return { kind: "unread", sent: state.output.unread ?? this.#last };
			state.isFinished = true;
			choices.push({ index, delta: tool_calls.length > 0 ? { tool_calls } : {}, finish_reason });
		}
		return { kind: "chunk", chunk: { ...pick(this.#last, "id", "object", "created", "model"), choices } };
	}

	/** Some hosts send the complete message beside the last delta. */
	#withoutRepeat(sent: unknown, position: number): unknown {
		if (!isRecord(sent) || !isRecord(sent.delta) || !isRecord(sent.message)) return sent;
		const index = typeof sent.index === "number" ? sent.index : position;
		const state = this.#choices.get(index);
		if (!state || !hasOutput(state)) return sent;
		const { message: _, ...others } = sent;
		return others;
	}

	/** Returns the choice itself if it needs no change. `undefined`: it was not requested. */
	#readChoice(sent: unknown, position: number): { choice: ChunkChoice } | NoAnswer | undefined {
		if (isPlain(sent)) {
			const index = this.#requestedIndex(sent.index);
			if (index === undefined) return undefined;
			const known = this.#choices.get(index);
			if (known && index === sent.index) {
				if (known.output.state !== "some") known.output.add(outputState(sent.delta), sent.delta);
				return { choice: sent };
			}
		}
		const {
			index: sentIndex,
			message,
			error,
			fields,
		} = readChoice(this.#withoutRepeat(sent, position), position);
		if (error !== undefined) return { kind: "failed", error };
		const index = this.#requestedIndex(sentIndex);
		if (index === undefined) return undefined;
		const isFirst = !this.#choices.has(index);
		const state = this.#stateOf(index);
		const reason = readFinishReason(fields.finish_reason);
		// MiniMax repeats the complete answer in its last event.
		const isSummary =
			reason !== undefined &&
			isRecord(sent) &&
			!isRecord(sent.delta) &&
			isRecord(sent.message) &&
			hasOutput(state);
		const { tool_calls, function_call: _, ...texts } = message;
		const pieces = isSummary ? [] : state.calls.add(sentCallsOf(message));
		if (reason !== undefined) pieces.push(...state.calls.finish());
		state.output.add(outputState(texts), sent);
		const finish = this.#finish(state, reason);
		if (finish === undefined)
			return isGivenUp(reason) ? { kind: "failed" } : { kind: "unread", sent: state.output.unread ?? sent };
		const calls = pieces.length > 0 ? { tool_calls: pieces } : tool_calls === null ? { tool_calls } : {};
		// OpenAI's SDK refuses a stream without a role.
		const role = isFirst && !texts.role ? { role: "assistant" } : {};
		const delta = isSummary ? {} : { ...texts, ...calls, ...role };
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
		return finishReasonOf(reason, state.calls.state, state.output.state);
	}

	/** Some engines number the only choice 1, or send more choices than the request has. Clients read the one with the index 0. */
	#requestedIndex(sent: number): number | undefined {
		if (this.#count > 1) return sent;
		this.#only ??= sent;
		return sent === this.#only ? 0 : undefined;
	}

	#stateOf(index: number): ChoiceState {
		const known = this.#choices.get(index);
		if (known) return known;
		const calls = new ToolCallAssembler(this.#context);
		const state: ChoiceState = { calls, output: new OutputCheck(), isFinished: false };
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
	const { finish_reason, finishReason, delta, error, usage, tool_calls, function_call } = choice;
	const { role, content, refusal, reasoning_content, reasoning, reasoning_details, thinking } = delta;
	return (
		isAbsent(finish_reason) &&
		isAbsent(finishReason) &&
		isAbsent(tool_calls) &&
		isAbsent(function_call) &&
		isAbsent(delta.finish_reason) &&
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
