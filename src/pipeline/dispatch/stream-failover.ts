/**
 * Mid-stream failover: if an engine breaks off, stays silent or fails after its first event, the next target continues the
 * answer, joined to the byte (`continuation.ts` builds its request, `replay-trimmer.ts` drops what it repeats).
 *
 * Without a failure the events pass unchanged, and their data is kept unparsed. If no target can continue, the stream errors
 * with the failure that interrupted it. A comment before the end, `: ganglion backend=… attempts=…`, reports a failover.
 */
import { failureOfTarget } from "../../backends/transport/upstream-failure.ts";
import { AiError, toAiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import { Approximation } from "../../counting/tally.ts";
import { completionToChunks, parseChunk } from "../../dialects/chat/chunks.ts";
import type { Source } from "../../streams/pulled-stream.ts";
import {
	DONE,
	type EventPiece,
	EventStream,
	frame,
	gatewayComment,
	isDone,
	mapEvents,
} from "../../streams/sse.ts";
import type { Answer, Progress } from "../../tasks/task.ts";
import { tallyReply } from "../../tasks/text-generation/index.ts";
import type { ChatCompletion } from "../../tasks/text-generation/types.ts";
import type { ResumableCall } from "../../tasks/traits.ts";
import type { PlannedTarget } from "../plan.ts";
import { recordFailure } from "./call-outcome.ts";
import { type ContinuationRequest, continuationRequests, isJoinable } from "./continuation.ts";
import type { DispatchState, StartedAnswer } from "./dispatch-state.ts";
import { DivergedError, ReplayTrimmer } from "./replay-trimmer.ts";
import { decide } from "./retry-policy.ts";
import { Transcript } from "./transcript.ts";

type StreamAnswer = Extract<Answer, { kind: "stream" }>;

/** Characters of events kept for a failover. A longer answer is not continued. */
const MAX_KEPT_LENGTH = 4 * 1024 * 1024;

/** Takes over `started`, whose answer is a stream. */
export function withFailover(
	started: StartedAnswer,
	answer: StreamAnswer,
	call: ResumableCall,
	state: DispatchState,
): StreamAnswer {
	const stream = new FailoverStream(started, answer, call, state);
	return { kind: "stream", events: new EventStream(stream), progress: stream };
}

/** The part of the answer from before the failover. */
interface EarlierPart {
	/** Output tokens by our own estimate. */
	tokens: number;
	/** Output tokens as the earlier engine counted them, as far as it did. */
	counted: number;
	/** The current engine repeats this part, and counts it as output. Otherwise it is part of the engine's prompt. */
	repeated: boolean;
}

class FailoverStream implements Progress, Source<EventPiece> {
	readonly #state: DispatchState;
	readonly #call: ResumableCall;
	readonly #cancelled = new AbortController();
	readonly #signal: AbortSignal;
	#current: StartedAnswer;
	#source: Source<EventPiece>;
	#progress: Progress;
	#earlier: EarlierPart | undefined;
	#trimmer: ReplayTrimmer | undefined;
	/** Data of the events so far, until a failover needs a transcript. */
	#kept: string[] | undefined;
	#keptLength = 0;
	#transcript: Transcript | undefined;
	/** The first interruption. If no target can continue, the caller receives this failure. */
	#failure: AiError | undefined;
	#over = false;
	/** The target whose events reached the caller last. */
	#lastTarget: PlannedTarget;

	constructor(started: StartedAnswer, answer: StreamAnswer, call: ResumableCall, state: DispatchState) {
		this.#state = state;
		this.#call = call;
		this.#signal = AbortSignal.any([state.context.signal, this.#cancelled.signal]);
		this.#current = started;
		this.#lastTarget = started.target;
		this.#source = EventStream.eventsOf(answer.events);
		this.#progress = answer.progress;
		const mayContinue = state.plan.targets.some(({ continues }) => continues !== false);
		if (mayContinue && isJoinable(call.input)) this.#kept = [];
	}

	get usage(): Usage | undefined {
		const { usage } = this.#progress;
		if (!usage) return undefined;
		const total = this.#totalUsage(usage);
		if (!this.#earlier?.repeated || this.#trimmer?.caughtUp) return total;
		// An engine that counts with every event has not yet repeated everything that the caller has.
		const completion_tokens = Math.max(total.completion_tokens, this.#earlier.counted);
		return { ...total, completion_tokens, total_tokens: total.prompt_tokens + completion_tokens };
	}

	get outputTokens(): number {
		const { outputTokens } = this.#progress;
		if (!this.#earlier) return outputTokens;
		const { repeated, tokens } = this.#earlier;
		return repeated ? Math.max(tokens, outputTokens) : tokens + outputTokens;
	}

	pull(): Promise<EventPiece | undefined> {
		return this.#source.pull().then(this.#pass, this.#failOver);
	}

	readonly #pass = (piece: EventPiece | undefined): EventPiece | undefined => {
		if (this.#over) return undefined;
		if (piece) {
			this.#lastTarget = this.#current.target;
			this.#keep(piece);
			return piece;
		}
		this.#current.outcome.succeed();
		return undefined;
	};

	readonly #failOver = async (error: unknown): Promise<EventPiece | undefined> => {
		if (this.#over) return undefined;
		const failure = await this.#continueElsewhere(error);
		if (!failure) return this.pull();
		if (this.#over) return undefined;
		this.#over = true;
		// Targets that were tried since then sent nothing to the caller.
		this.#state.answeredBy(this.#lastTarget);
		throw failure;
	};

	async cancel(reason: unknown): Promise<void> {
		this.#over = true;
		this.#current.outcome.cancel();
		// The stream of the current engine may have failed already, while its replacement is not there yet.
		const cancelled = this.#source.cancel(reason).catch(() => {});
		this.#cancelled.abort(reason);
		await cancelled;
	}

	#keep({ events }: EventPiece): void {
		for (const event of events) {
			if (!this.#kept || "comment" in event) continue;
			this.#keptLength += event.data.length;
			if (this.#keptLength > MAX_KEPT_LENGTH) this.#kept = undefined;
			else this.#kept.push(event.data);
		}
	}

	/** Returns the failure that ends the stream, or nothing if another target continues it. */
	async #continueElsewhere(error: unknown): Promise<AiError | undefined> {
		const state = this.#state;
		const transcript = this.#signal.aborted ? undefined : this.#readTranscript();
		const diverged = error instanceof DivergedError;
		const failure = diverged ? this.#dropCurrent() : toAiError(error);
		if (!diverged) recordFailure(this.#current.outcome, failure);
		const decision = decide(failure);
		if (this.#signal.aborted || decision === "fail") return failure;
		this.#failure ??= failure;
		const { target: interrupted } = this.#current;
		state.recordInterruption(interrupted, failure);
		if (!transcript) return state.summarize(this.#failure);

		const { outputTokens } = this;
		for (let target = state.nextTarget(); target; target = state.nextTarget())
			if (await this.#continueWith(target, transcript, outputTokens)) return undefined;
		// The interrupted target comes last, because it is the likeliest to fail again.
		const mayRetry =
			!diverged && decision === "retry" && state.callsOf(interrupted) < state.plan.retries.attempts;
		if (mayRetry && (await this.#continueWith(interrupted, transcript, outputTokens))) return undefined;
		return this.#signal.aborted ? new AiError("aborted") : state.summarize(this.#failure);
	}

	/** The engine is healthy, but its answer does not continue the earlier one. */
	#dropCurrent(): AiError {
		const { target, outcome } = this.#current;
		outcome.succeed();
		this.#recordWaste();
		this.#progress = { usage: undefined, outputTokens: this.#earlier?.tokens ?? 0 };
		this.#earlier = undefined;
		return failureOfTarget(target, "executionFailed", "answered otherwise than the one before it");
	}

	#recordWaste(): void {
		const { backend, model } = this.#current.target;
		const { usage, outputTokens } = this.#progress;
		this.#state.served.wasted.push({ why: "cut", backend, model, progress: { usage, outputTokens } });
	}

	/** Returns nothing if the answer cannot be continued. */
	#readTranscript(): Transcript | undefined {
		if (this.#transcript) return this.#transcript;
		if (!this.#kept) return undefined;
		const transcript = new Transcript(this.#state.services.uuid);
		try {
			for (const data of this.#kept) transcript.addEvent(data);
		} catch {
			return undefined;
		}
		this.#kept = undefined;
		this.#transcript = transcript;
		return transcript;
	}

	async #continueWith(
		target: PlannedTarget,
		transcript: Transcript,
		earlierTokens: number,
	): Promise<boolean> {
		const state = this.#state;
		for (const request of continuationRequests(target, this.#call.input, transcript, earlierTokens)) {
			const call = { ...this.#call, input: request.input };
			try {
				const started = await state.attempt(target, call, this.#signal);
				if (this.#over) state.discard(started);
				else this.#switchTo(started, request, transcript, earlierTokens);
				return true;
			} catch (error) {
				if (this.#signal.aborted) return false;
				const failure = toAiError(error);
				state.recordFailure(target, failure);
				// A target that refuses to continue another's answer may still answer the original request.
				if (!(request.continues && decide(failure) === "fail")) return false;
			}
		}
		return false;
	}

	#switchTo(
		started: StartedAnswer,
		request: ContinuationRequest,
		transcript: Transcript,
		earlierTokens: number,
	): void {
		const { services, served } = this.#state;
		const answer = started.answer as Answer<ResumableCall["task"]>;
		// A repeated part is paid to the engine that repeats it. A continued part stays in the answer.
		if (!request.continues && earlierTokens > 0) this.#recordWaste();
		const counted = this.usage?.completion_tokens ?? earlierTokens;
		this.#current = started;
		this.#earlier = { tokens: earlierTokens, counted, repeated: !request.continues };
		this.#state.answeredBy(started.target);
		const trimmer = new ReplayTrimmer(transcript, request.expected, services.uuid);
		this.#trimmer = trimmer;
		const source = answer.kind === "stream" ? answer.events : completionToChunks(answer.output);
		this.#progress = answer.kind === "stream" ? answer.progress : progressOf(answer.output);
		const events = mapEvents(source, {
			onData: (data, value) => {
				if (isDone(data))
					return gatewayComment(`backend=${served.backend} attempts=${served.attempts}`) + DONE;
				const sent = parseChunk(data, value);
				const fresh = sent === "done" ? undefined : trimmer.trim(sent);
				if (!fresh) return "";
				transcript.add(fresh);
				return frame(fresh.usage ? { ...fresh, usage: this.#totalUsage(fresh.usage) } : fresh);
			},
		});
		this.#source = EventStream.eventsOf(events);
	}

	/** Usage of all engines as if the current one had written everything: a continued part counts as output, not as prompt. */
	#totalUsage(usage: Usage): Usage {
		if (!this.#earlier || this.#earlier.repeated) return usage;
		const continued = Math.min(this.#earlier.tokens, usage.prompt_tokens);
		return {
			...usage,
			prompt_tokens: usage.prompt_tokens - continued,
			completion_tokens: usage.completion_tokens + continued,
		};
	}
}

/** By our own count if the engine sent none. */
function progressOf(reply: ChatCompletion): Progress {
	const usage = reply.usage ?? undefined;
	if (usage) return { usage, outputTokens: usage.completion_tokens };
	const tally = new Approximation();
	tallyReply(reply, tally);
	return { usage, outputTokens: tally.tokens };
}
