/**
 * Translates `streamGenerateContent` to OpenAI's chunks. There is no end event: an answer is complete when each candidate
 * has a finish reason and the connection closes.
 *
 * Each event counts all tokens so far, hidden thoughts included. The chunk has the counts, so that a cancelled stream is
 * billed correctly.
 */
import { isRecord } from "../../core/json.ts";
import type { Usage } from "../../core/usage.ts";
import type { ChatChunk, ChatDelta } from "../../tasks/text-generation/types.ts";
import type { Heading } from "../completion.ts";
import { OutputCheck } from "../output-state.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../transport/upstream-failure.ts";
import { groundingDeltas, readGrounding } from "./grounding.ts";
import {
	type CandidateReply,
	finishReason,
	type GeminiReplyForm,
	GenerateEvent,
	headingIn,
	logprobsOf,
	outputOf,
	partsOf,
	refuseBlocked,
	usageIn,
	writtenText,
} from "./reply.ts";

type Choice = ChatChunk["choices"][number];

export class GeminiTranslator implements Translator {
	readonly #call: Call;
	readonly #form: GeminiReplyForm;
	/** The requested number of answers. */
	readonly #requested: number;
	#heading: Heading | undefined;
	#usage: Usage | undefined;
	/** The number of tool calls of each answer that has begun, by index. */
	readonly #callCounts = new Map<number, number>();
	readonly #finished = new Set<number>();
	/** A proxy has sent OpenAI's end. */
	#isEnded = false;
	readonly #checks = new Map<number, OutputCheck>();
	/** The text of each answer, if the request has Google's search: citations are places in it. */
	readonly #texts = new Map<number, string>();

	constructor(form: GeminiReplyForm, choices = 1) {
		this.#call = form.call;
		this.#form = form;
		this.#requested = choices;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const sent: unknown = JSON.parse(data);
		if (isRecord(sent) && "error" in sent) throw failureOfBody(this.#call, sent);
		const event = GenerateEvent.parse(sent);
		refuseBlocked(event, this.#call);
		this.#heading ??= headingIn(event, this.#call);
		this.#usage = usageIn(event) ?? this.#usage;
		const choices = (event.candidates ?? []).flatMap((candidate, position) =>
			this.#choices(candidate, position),
		);
		const grounded = (event.candidates ?? []).flatMap((candidate, position) =>
			this.#grounding(candidate, position),
		);
		if (grounded.length > 0) return this.#chunksAround(grounded, choices);
		return choices.length > 0 ? [this.#chunk(choices)] : [];
	}

	readDone(): void {
		this.#isEnded = true;
	}

	end(): ChatChunk[] | undefined {
		const open = this.#isEnded ? [...this.#checks].filter(([index]) => !this.#finished.has(index)) : [];
		if (this.#finished.size + open.length < this.#requested) return undefined;
		const ends = open.map(([index, check]): Choice => {
			check.refuseUnread(this.#call, undefined, undefined);
			return { index, delta: {}, finish_reason: this.#callCounts.get(index) ? "tool_calls" : "stop" };
		});
		return this.#usage || ends.length > 0 ? [this.#chunk(ends)] : [];
	}

	#choices(candidate: CandidateReply, position: number): Choice[] {
		const index = candidate.index ?? position;
		const callCount = this.#callCounts.get(index);
		const { text, thoughts, calls, ...signed } = partsOf(candidate, this.#form, callCount ?? 0);
		const delta: ChatDelta = {
			...(callCount === undefined && { role: "assistant" }),
			...(thoughts && { reasoning_content: thoughts }),
			...(text && { content: text }),
			...signed,
			...(calls.length > 0 && {
				tool_calls: calls.map((call, at) => ({ index: (callCount ?? 0) + at, ...call })),
			}),
		};
		const total = (callCount ?? 0) + calls.length;
		// Some candidates have two finish reasons.
		const reason = this.#finished.has(index) ? undefined : candidate.finishReason;
		const check = this.#checks.get(index) ?? new OutputCheck();
		this.#checks.set(index, check);
		check.add(outputOf(candidate), candidate);
		const isSilent = Object.keys(delta).every((name) => name === "role");
		if (isSilent && !reason) return [];
		this.#callCounts.set(index, total);
		if (reason) this.#finished.add(index);
		const logprobs = logprobsOf(candidate);
		const finish_reason = reason ? finishReason(reason, total > 0, this.#call) : null;
		if (finish_reason) check.refuseUnread(this.#call, finish_reason, candidate);
		return [{ index, delta, ...(logprobs !== null && { logprobs }), finish_reason }];
	}

	/** What Google found. */
	#grounding(candidate: CandidateReply, position: number): Choice[] {
		const { search, call } = this.#form;
		if (!search) return [];
		const index = candidate.index ?? position;
		const text = (this.#texts.get(index) ?? "") + writtenText(candidate);
		this.#texts.set(index, text);
		const grounding = readGrounding(candidate.groundingMetadata);
		if (!grounding) return [];
		const { uuid } = call.services;
		return groundingDeltas(grounding, { text, search, uuid }).map((delta) => ({
			index,
			delta,
			finish_reason: null,
		}));
	}

	/** The text, what it cites, and the end of the answer. */
	#chunksAround(grounded: readonly Choice[], choices: readonly Choice[]): ChatChunk[] {
		const begun = choices.map((choice) => ({ ...choice, finish_reason: null }));
		const ended = choices.flatMap(({ index, finish_reason }) =>
			finish_reason ? [{ index, delta: {}, finish_reason }] : [],
		);
		return [begun, ...grounded.map((choice) => [choice]), ended].flatMap((part) =>
			part.length > 0 ? [this.#chunk(part)] : [],
		);
	}

	#chunk(choices: Choice[]): ChatChunk {
		const heading = this.#heading ?? headingIn({}, this.#call);
		const usage = this.#usage && { usage: this.#usage };
		return { ...heading, object: "chat.completion.chunk", choices, ...usage };
	}
}
