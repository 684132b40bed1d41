/**
 * Measures what an answer used while it passes to the caller, and ends the exchange with it. An interruption of an answer that
 * has started ends the exchange here, because no surface sees it: the caller receives it as the last frame of the dialect.
 */
import { AiError, toAiError } from "../core/errors.ts";
import type { Usage } from "../core/usage.ts";
import { byUsage, type Measured } from "../counting/quantities.ts";
import type { Model } from "../models/model.ts";
import { microNeurons, shownNeurons } from "../models/neurons.ts";
import { AbandonableSource, type StreamEnd } from "../streams/observed-source.ts";
import { PulledStream, type Source } from "../streams/pulled-stream.ts";
import { EventStream } from "../streams/sse.ts";
import { LIVE_SESSION_SECONDS } from "../tasks/live-transcription/index.ts";
import type { LiveTranscription, TranscriptionEvent } from "../tasks/live-transcription/types.ts";
import type { Answer, StreamedOutput, TaskAnswer, TaskCall, TaskName, TaskOutput } from "../tasks/task.ts";
import {
	definitionOf,
	isSession,
	measure,
	measureLive,
	measureStream,
	plausibleUsage,
} from "../tasks/traits.ts";
import { type BoundedSession, boundSession } from "./bounded-session.ts";
import type { AnswerOutcome, Exchange } from "./exchange.ts";
import type { EngineAnswer, Served } from "./request.ts";
import type { PipelineServices } from "./services.ts";
import { usageFrames } from "./usage-frames.ts";

export interface Metered {
	answer: TaskAnswer;
	/** Neurons, two decimals. Absent for a stream, outputs or a session, which have only started. */
	neurons?: number;
	/** Adds the cost to the counts of a chat; for a stream, as far as it is known. Unchanged for a model without a price. */
	withCost(usage: Usage): Usage & { neurons?: number };
	/** For a stream of events: whether the engine's usage was sent unchanged so far. */
	isUsageUnchanged?(): boolean;
	/** Cancels an answer that is not complete, because it will not be read. The exchange ends, if it has not. */
	cancel(reason: AiError): void;
}

/** Ends the exchange. */
type End = (outcome: AnswerOutcome, measured: Measured, failure?: AiError) => number;

/** Takes over the answer. The exchange ends with it. */
export function meter(
	exchange: Exchange,
	{ call, answer: answered, served }: EngineAnswer,
	model: Model,
	{ startTimer }: Pick<PipelineServices, "startTimer">,
): Metered {
	const end: End = (outcome, measured, failure) =>
		exchange.complete(outcome, {
			served,
			// The request that owns a shared answer pays for it.
			...(served.shared
				? { measured: NOTHING }
				: { measured, hedgedMicroNeurons: hedgedCost(call, model, served) }),
			...(failure && { failure }),
		});
	const { task } = call;
	if (answered.answer.kind === "stream") {
		const { events, progress, ended } = answered.answer;
		const endStream = (outcome: AnswerOutcome, failure?: AiError) =>
			end(outcome, measureStream(call, progress, model), failure);
		const cost = (usage: Usage) => costOf(usage, model) + hedgedCost(call, model, served);
		if (ended) {
			const cancel = followPassThrough(events, ended, exchange, endStream);
			return { answer: answered, withCost: withCost(model, cost), cancel };
		}
		const { pass, isUnchanged } = usageFrames(call, model, progress);
		const source = observe(EventStream.eventsOf(events), exchange, endStream, pass);
		const answer: Answer = { kind: "stream", events: new EventStream(source), progress };
		return {
			answer: { task, answer } as TaskAnswer,
			withCost: withCost(model, cost),
			isUsageUnchanged: isUnchanged,
			cancel: (reason) => source.abandon(reason),
		};
	}
	if (isSession(call) && answered.answer.kind === "value") {
		const session = boundSession(answered.answer.output as LiveTranscription, call.input, {
			ms: exchange.settlementMs,
			startTimer,
			...(exchange.isLimited && { seconds: LIVE_SESSION_SECONDS }),
		});
		const { cancel, ...output } = meterSession(session, exchange, end);
		const answer = { kind: "value", output } as const;
		return { answer: { task: call.task, answer }, withCost: (usage) => usage, cancel };
	}
	if (answered.answer.kind === "outputs") {
		const { outputs, cancel } = meterOutputs(answered.answer.outputs, call, model, exchange, end);
		const answer = { kind: "outputs", outputs } as const;
		return { answer: { task, answer } as TaskAnswer, withCost: (usage) => usage, cancel };
	}
	const { output } = answered.answer;
	const cost = end("ok", measureOutput(call, output, model));
	return {
		answer: answered,
		neurons: shownNeurons(cost),
		withCost: withCost(model, () => cost),
		cancel: () => {},
	};
}

const NOTHING: Measured = { quantities: {}, estimated: false };

function measureOutput(call: TaskCall, output: TaskOutput<TaskName>, model: Model): Measured {
	if ("usage" in output && output.usage) output.usage = plausibleUsage(output.usage, call, model);
	const measured = measure(call, output, model);
	definitionOf(call).completeUsage?.(output, measured);
	return measured;
}

/** Cost of the engines that a hedge called in parallel, in micro-neurons. */
const hedgedCost = (call: TaskCall, model: Model, { wasted }: Served): number =>
	wasted.reduce(
		(sum, { why, progress }) =>
			why === "hedge"
				? sum + microNeurons(model.prices, measureStream(call, progress, model).quantities)
				: sum,
		0,
	);

/** Micro-neurons. */
function costOf(usage: Usage, { prices }: Model): number {
	return microNeurons(prices, byUsage(usage).quantities);
}

const withCost =
	({ prices }: Model, cost: (usage: Usage) => number): Metered["withCost"] =>
	(usage) =>
		prices.length === 0 ? usage : { ...usage, neurons: shownNeurons(cost(usage)) };

/** Follows a pass-through stream, whose bytes no stage reads. Returns a function that cancels it, as long as it has no reader. */
function followPassThrough(
	events: ReadableStream<Uint8Array>,
	ended: Promise<AiError | undefined>,
	exchange: Exchange,
	end: (outcome: AnswerOutcome, failure?: AiError) => void,
): Metered["cancel"] {
	exchange.begin();
	void ended.then((failure) => {
		if (failure) end(outcomeOf(failure), failure);
		else end("ok");
	});
	return (reason) => void events.cancel(reason).catch(() => {});
}

/** The outcome of a stream that errors. */
const outcomeOf = (failure: AiError): AnswerOutcome =>
	failure.key === "aborted" ? "cancelled" : "interrupted";

/** Calls `end` when the source ends, errors, or is cancelled. `pass` returns what the caller gets. */
const observe = <Piece>(
	from: Source<Piece>,
	exchange: Exchange,
	end: (outcome: AnswerOutcome, failure?: AiError) => void,
	pass: (piece: Piece) => Piece,
): AbandonableSource<Piece> =>
	new AbandonableSource(from, {
		pass(piece) {
			exchange.begin();
			return pass(piece);
		},
		end(ended) {
			if (ended.kind === "complete") return end("ok");
			const failure = failureOf(ended);
			end(failure ? outcomeOf(failure) : "cancelled", failure);
		},
	});

/** A later stage that fails cancels with its failure. A caller who disconnects has another reason, or none. */
function failureOf(ended: Exclude<StreamEnd, { kind: "complete" }>): AiError | undefined {
	if (ended.kind === "failed") return toAiError(ended.error);
	const { reason } = ended;
	return reason instanceof AiError && reason.key !== "aborted" ? reason : undefined;
}

/**
 * Meters the versions of one output. A caller who leaves pays for the last one that was sent, as for a complete one: the engine may have
 * finished it. An interruption by a failure costs nothing without the complete output.
 */
function meterOutputs(
	outputs: ReadableStream<StreamedOutput<TaskOutput<TaskName>>>,
	call: TaskCall,
	model: Model,
	exchange: Exchange,
	end: End,
): { outputs: typeof outputs } & Pick<Metered, "cancel"> {
	let measured: Measured | undefined;
	let isComplete = false;
	const pass = (sent: StreamedOutput<TaskOutput<TaskName>>) => {
		measured = measureOutput(call, sent.output, model);
		isComplete = sent.isComplete;
		return sent;
	};
	const endOutputs = (outcome: AnswerOutcome, failure?: AiError) => {
		const isBilled = isComplete || outcome === "cancelled";
		end(outcome, (isBilled && measured) || NOTHING, failure);
	};
	const source = observe(PulledStream.sourceOf(outputs), exchange, endOutputs, pass);
	return { outputs: new PulledStream(source), cancel: (reason) => source.abandon(reason) };
}

/**
 * Meters a live session. It is charged for the audio that its last event reports. Without that event: for all audio that was sent, if a bound or the
 * caller ended the session, or its token was revoked; up to the last transcript, if the engine failed.
 */
function meterSession(
	{ readable, writable, isAtBound, sentSeconds, transcribedSeconds }: BoundedSession,
	exchange: Exchange,
	end: End,
): LiveTranscription & Pick<Metered, "cancel"> {
	let summary: Pick<Extract<TranscriptionEvent, { kind: "ended" }>, "duration" | "channels"> | undefined;
	const pass = (event: TranscriptionEvent) => {
		if (event.kind === "ended") summary = event;
		return event;
	};
	const endSession = (outcome: AnswerOutcome, failure?: AiError) => {
		const seconds = isAtBound() || outcome === "cancelled" ? sentSeconds : transcribedSeconds;
		const { quantities } = measureLive(summary ?? { duration: seconds(), channels: 1 });
		end(outcome, { quantities, estimated: summary === undefined }, failure);
	};
	const source = observe(PulledStream.sourceOf(readable), exchange, endSession, pass);
	return { writable, readable: new PulledStream(source), cancel: (reason) => source.abandon(reason) };
}
