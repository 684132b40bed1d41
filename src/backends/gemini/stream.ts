/**
 * `streamGenerateContent` to OpenAI's chunks. There is no event for the end: an answer is whole when each candidate has
 * its reason to finish and the connection closes.
 *
 * Each event counts all tokens so far, those of thinking that is not shown among them, and its chunk passes the counts
 * on: a caller who leaves amid the stream pays for what was used.
 */

import type { Usage } from "../../core/usage.ts";
import type { ChatChunk } from "../../tasks/text-generation/types.ts";
import type { Translator, UpstreamEvent } from "../transport/translated-stream.ts";
import { type Call, failureOfBody } from "../transport/upstream-failure.ts";
import {
	type CandidateReply,
	finishReason,
	GenerateEvent,
	headingOf,
	logprobsOf,
	refuseBlocked,
	saidIn,
	usageOf,
} from "./reply.ts";

type Choice = ChatChunk["choices"][number];
/** Its `logprobs` stay away where there are none, as OpenAI's chunks have it. */
type Delta = Choice["delta"];

export class GeminiTranslator implements Translator {
	readonly #call: Call;
	/** How many answers were asked for. */
	readonly #wanted: number;
	#heading: ReturnType<typeof headingOf> | undefined;
	#usage: Usage | undefined;
	/** By the index of the answer: how many calls it has made. */
	readonly #begun = new Map<number, number>();
	readonly #finished = new Set<number>();

	constructor(call: Call, choices = 1) {
		this.#call = call;
		this.#wanted = choices;
	}

	translate({ data }: UpstreamEvent): ChatChunk[] {
		const sent: unknown = JSON.parse(data);
		if (typeof sent === "object" && sent !== null && "error" in sent) throw failureOfBody(this.#call, sent);
		const event = GenerateEvent.parse(sent);
		refuseBlocked(event, this.#call);
		this.#heading ??= headingOf(event, this.#call);
		this.#usage = usageOf(event.usageMetadata) ?? this.#usage;
		const choices = (event.candidates ?? []).flatMap((candidate, place) => this.#choices(candidate, place));
		return choices.length > 0 ? [this.#chunk(choices)] : [];
	}

	end(): ChatChunk[] | undefined {
		if (this.#finished.size < this.#wanted) return undefined;
		return this.#usage ? [this.#chunk([])] : [];
	}

	#choices(candidate: CandidateReply, place: number): Choice[] {
		const index = candidate.index ?? place;
		const { text, thoughts, calls } = saidIn(candidate, this.#call);
		const called = this.#begun.get(index);
		const delta: Delta = {
			...(called === undefined && { role: "assistant" }),
			...(thoughts && { reasoning_content: thoughts }),
			...(text && { content: text }),
			...(calls.length > 0 && {
				tool_calls: calls.map((call, at) => ({ index: (called ?? 0) + at, ...call })),
			}),
		};
		const total = (called ?? 0) + calls.length;
		// Some finish twice.
		const reason = this.#finished.has(index) ? undefined : candidate.finishReason;
		const isSilent = !text && !thoughts && calls.length === 0;
		if (isSilent && !reason) return [];
		this.#begun.set(index, total);
		if (reason) this.#finished.add(index);
		const logprobs = logprobsOf(candidate);
		return [
			{
				index,
				delta,
				...(logprobs !== null && { logprobs }),
				finish_reason: reason ? finishReason(reason, total > 0, this.#call) : null,
			},
		];
	}

	#chunk(choices: Choice[]): ChatChunk {
		const heading = this.#heading ?? headingOf({}, this.#call);
		return {
			...heading,
			object: "chat.completion.chunk",
			choices,
			...(this.#usage && { usage: this.#usage }),
		};
	}
}
