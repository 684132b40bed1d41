/**
 * Repairs the events of one chat stream, so that every later stage reads OpenAI's chunks. An event that needs no change is returned
 * as it is. What an engine may omit without harm (id, object, created, model) is not added here.
 */
import { isDeepStrictEqual } from "node:util";
import { isAbsent, isRecord, isTextOrAbsent } from "../../../core/json.ts";
import { pick } from "../../../core/present.ts";
import type { Usage } from "../../../core/usage.ts";
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
	/** Absent until an event needs the complete reader. */
	calls: ToolCallAssembler | undefined;
	output: OutputCheck;
	isFinished: boolean;
}

/**
 * `usage`: of the chunk, wherever the engine has sent it, with the usual names of its counts. `failed`: the engine has given an answer up;
 * `error` is its own error, if it sent one. `unread`: nothing in it could be read; `sent` is for the log.
 */
export type RepairedEvent =
	| { kind: "chunk"; chunk: Record<string, unknown>; usage?: Usage | undefined }
	| { kind: "none" }
	| { kind: "unread"; sent: unknown }
	| { kind: "failed"; error?: unknown };

const hasOutput = ({ calls, output }: ChoiceState): boolean =>
	output.state === "some" || (calls?.count ?? 0) > 0;

type NoAnswer = Extract<RepairedEvent, { kind: "failed" | "unread" }>;

const NO_CHUNK: RepairedEvent = { kind: "none" };

/** Ends that need no change after a text. */
const PLAIN_ENDS: ReadonlySet<unknown> = new Set(["stop", "length", "content_filter"]);
/** Fields of a choice that the complete reader moves or removes. */
const ODD_FIELDS = ["message", "messages", "text", "tool_calls", "function_call", "finishReason", "error"];

export class ChatEventReader {
	readonly #context: () => ToolCallContext;
	readonly #count: number;
	readonly #choices = new Map<number, ChoiceState>();
	/** The index that the engine gives to the only choice. */
	#only: number | undefined;
	#last: Record<string, unknown> = {};

	/**
	 * @param context made for the first event that needs it.
	 * @param count the requested number of choices.
	 */
	constructor(context: () => ToolCallContext, count: number) {
		this.#context = context;
		this.#count = count;
	}

	/** The most tool calls of one choice. */
	get toolCalls(): number {
		let most = 0;
		for (const { calls } of this.#choices.values()) most = Math.max(most, calls?.count ?? 0);
		return most;
	}

	/** Reads an event that is no error. `none`: it is no part of an answer, such as a ping. */
	read(event: Record<string, unknown>): RepairedEvent {
		const sent = withoutOddFields(event);
		const { choices } = sent;
		const form = Array.isArray(choices) ? sent : usualForm(sent);
		if (form && form !== sent) return this.read(form);
		const usage = usageIn(sent);
		if (!Array.isArray(choices) && !usage) return NO_CHUNK;
		const list: readonly unknown[] = Array.isArray(choices) ? choices : [];
		const repaired: ChunkChoice[] = [];
		let isSent = Array.isArray(choices);
		for (const [position, choice] of list.entries()) {
			const read = this.#readChoice(choice, position);
			if (read && !("choice" in read)) return read;
			isSent &&= read?.choice === choice;
			if (read) repaired.push(read.choice);
		}
		this.#last = sent;
		if (repaired.length === 0 && list.length > 0 && !usage) return NO_CHUNK;
		const isUsageInPlace = isRecord(sent.usage) || (!usage && isAbsent(sent.usage));
		if (isSent && isUsageInPlace) return { kind: "chunk", chunk: sent, usage };
		const chunk = { ...sent, choices: repaired, ...(!isUsageInPlace && { usage }) };
		return { kind: "chunk", chunk, usage };
	}

	/** The stream has ended. Returns the chunk that finishes the choices that the engine left open. */
	end(): RepairedEvent {
		const choices: ChunkChoice[] = [];
		for (const [index, state] of this.#choices) {
			if (state.isFinished) continue;
			const tool_calls = state.calls?.finish() ?? [];
			const finish_reason = finishReasonOf(undefined, state.calls?.state ?? "none", state.output.state);
			if (finish_reason === undefined) return { kind: "unread", sent: state.output.unread ?? this.#last };
			state.isFinished = true;
			choices.push({ index, delta: tool_calls.length > 0 ? { tool_calls } : {}, finish_reason });
		}
		if (choices.length === 0) return NO_CHUNK;
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
		const plain = isPlain(sent) ? this.#readPlain(sent) : undefined;
		if (plain) return { choice: plain };
		const unrepeated = this.#withoutRepeat(sent, position);
		const { index: sentIndex, message, error, fields } = readChoice(unrepeated, position);
		if (error !== undefined) return { kind: "failed", error };
		const index = this.#requestedIndex(sentIndex);
		if (index === undefined) return undefined;
		const isFirst = !this.#choices.has(index);
		const state = this.#stateOf(index);
		state.calls ??= new ToolCallAssembler(this.#context());
		const { calls: assembler } = state;
		const reason = readFinishReason(fields.finish_reason);
		// MiniMax repeats the complete answer in its last event.
		const isSummary =
			reason !== undefined &&
			isRecord(sent) &&
			!isRecord(sent.delta) &&
			isRecord(sent.message) &&
			hasOutput(state);
		const { tool_calls, function_call: _, ...texts } = message;
		const pieces = isSummary ? [] : assembler.add(sentCallsOf(message));
		if (reason !== undefined) pieces.push(...assembler.finish());
		state.output.add(outputState(texts), sent);
		const finish = finishOf(state, assembler, reason);
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

	/**
	 * Reads a piece of text, or its end, without a copy. `undefined`: the complete reader has to read it. A first piece gets the role that
	 * OpenAI's SDK requires.
	 */
	#readPlain(sent: ChunkChoice): ChunkChoice | undefined {
		const { index, delta, finish_reason } = sent;
		if (this.#requestedIndex(index) !== index) return undefined;
		const known = this.#choices.get(index);
		if (known && isAbsent(finish_reason)) {
			if (known.output.state === "some") return sent;
			if (hasText(delta)) known.output.state = "some";
			else known.output.add(outputState(delta), delta);
			return sent;
		}
		if ("function_call" in delta || "finish_reason" in delta || !isAbsent(sent.stop_reason)) return undefined;
		for (const name of ODD_FIELDS) if (name in sent) return undefined;
		if (known) {
			const isEnd = known.output.state === "some" && !known.calls && PLAIN_ENDS.has(finish_reason);
			if (isEnd) known.isFinished = true;
			return isEnd ? sent : undefined;
		}
		if (!isAbsent(finish_reason) || !hasText(delta)) return undefined;
		if (!delta.role && ("tool_calls" in delta || "stop_reason" in sent)) return undefined;
		this.#stateOf(index).output.state = "some";
		if (delta.role) return sent;
		const { index: _, delta: text, ...fields } = sent;
		return { ...fields, index, delta: { ...text, role: "assistant" }, finish_reason: null };
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
		const state: ChoiceState = { calls: undefined, output: new OutputCheck(), isFinished: false };
		this.#choices.set(index, state);
		return state;
	}
}

/** `null` before the end. `undefined`: the answer has failed. */
function finishOf(
	state: ChoiceState,
	calls: ToolCallAssembler,
	reason: string | undefined,
): string | null | undefined {
	if (reason === undefined) return null;
	state.isFinished = true;
	// The engine broke off inside the arguments.
	if (reason === "error" && calls.count > 0 && !calls.isComplete) return undefined;
	return finishReasonOf(reason, calls.state, state.output.state);
}

/** The event without the fields of its heading that have another type than OpenAI's. */
function withoutOddFields(sent: Record<string, unknown>): Record<string, unknown> {
	const { id, object, created, model, ...fields } = sent;
	const isUsual =
		isTextOrAbsent(id) &&
		isTextOrAbsent(object) &&
		isTextOrAbsent(model) &&
		(isAbsent(created) || typeof created === "number");
	if (isUsual) return sent;
	return {
		...(typeof id === "string" && { id }),
		...(typeof object === "string" && { object }),
		...(typeof created === "number" && { created }),
		...(typeof model === "string" && { model }),
		...fields,
	};
}

/** Whether a choice is a piece of text in OpenAI's form, or its end. Most are, and this check takes a tenth of the reader's time. */
function isPlain(choice: unknown): choice is ChunkChoice {
	if (!isRecord(choice) || typeof choice.index !== "number" || !isRecord(choice.delta)) return false;
	const { finishReason, delta, error, usage, tool_calls, function_call } = choice;
	const { role, content, refusal, reasoning_content, reasoning, reasoning_details, thinking } = delta;
	return (
		isAbsent(finishReason) &&
		isAbsent(tool_calls) &&
		isAbsent(function_call) &&
		isAbsent(delta.finish_reason) &&
		isAbsent(error) &&
		isAbsent(usage) &&
		isTextOrAbsent(content) &&
		isTextOrAbsent(refusal) &&
		isTextOrAbsent(reasoning_content) &&
		isTextOrAbsent(reasoning) &&
		(isAbsent(role) || role === "assistant") &&
		isAbsent(reasoning_details) &&
		isAbsent(delta.reasoning_text) &&
		isAbsent(thinking) &&
		isAbsent(delta.tool_calls) &&
		isAbsent(delta.function_call)
	);
}

const hasText = ({ content, refusal, reasoning_content, reasoning }: ChunkChoice["delta"]): boolean =>
	Boolean(content || refusal || reasoning_content || reasoning);
