/**
 * Reads what an answer used while it passes, and settles its ticket when it has. What cuts an answer that has begun is
 * told to the log here: no surface sees it any more, and the caller's last frame is its dialect's.
 */
import { AiError, toAiError } from "../core/errors.ts";
import { isCounted, type Usage } from "../core/usage.ts";
import { LIVE_SESSION_SECONDS } from "../metering/estimate.ts";
import { type Measured, measure, measureLive, measureStream, toUsage } from "../metering/measure.ts";
import { boundUsage } from "../metering/usage-bounds.ts";
import type { Model } from "../models/model.ts";
import { microNeurons, shownNeurons } from "../models/neurons.ts";
import { PulledStream, type Source } from "../streams/pulled-stream.ts";
import { EventStream } from "../streams/sse.ts";
import type { LiveTranscription, TranscriptionEvent } from "../tasks/live-transcription/types.ts";
import type { Answer, TaskAnswer, TaskCall } from "../tasks/task.ts";
import type { ChatCompletion } from "../tasks/text-generation/types.ts";
import { type BoundedSession, boundSession } from "./bounded-session.ts";
import type { Served } from "./request.ts";
import type { Services } from "./services.ts";
import type { Ticket } from "./ticket.ts";
import { withUsage } from "./usage-frames.ts";

export interface Metered {
	answer: TaskAnswer;
	/** What it cost, two decimals. Absent of what has only begun. */
	neurons?: number;
	/**
	 * Counts of a chat together with what the request costs, of a stream as far as that is known. Models without a price
	 * say nothing of one.
	 */
	priced(usage: Usage): Usage & { neurons?: number };
	/** Nobody will read it: lets go of the engine. Nothing where the answer is whole. */
	abandon(): void;
}

interface Metering {
	model: Model;
	ticket: Ticket;
	served: Served;
	requestId: string;
}

type Passing = "ok" | "cut" | "left";

/** Takes over `answered` and the ticket. */
export async function meter(
	answered: TaskAnswer,
	call: TaskCall,
	{ model, ticket, served, requestId }: Metering,
	{ log, wait }: Pick<Services, "log" | "wait">,
): Promise<Metered> {
	const passed = { ticket, tell: (error: unknown) => log(toAiError(error), requestId) };
	const settle = (how: Passing, measured: Measured): number => {
		// Whoever asked first pays for an answer that is shared.
		if (served.shared) return ticket.settle(how, NOTHING, served);
		return ticket.settle(how, measured, served, hedged(call, model, served));
	};
	const { task } = call;
	if (answered.answer.kind === "stream") {
		const { events, progress, ended } = answered.answer;
		const settleStream = (how: Passing) => settle(how, measureStream(call, progress, model));
		const cost = (usage: Usage) => costOf(usage, model) + hedged(call, model, served);
		if (ended) {
			const abandon = heedEnd(events, ended, passed, settleStream);
			return { answer: answered, priced: priced(model, cost), abandon };
		}
		const chunks = withUsage(EventStream.eventsOf(events), call, model, progress);
		const { source, abandon } = watched(chunks, passed, settleStream);
		const answer: Answer = { kind: "stream", events: new EventStream(source), progress };
		return { answer: { task, answer } as TaskAnswer, priced: priced(model, cost), abandon };
	}
	if (task === "live-transcription" && answered.answer.kind === "value") {
		const seconds = ticket.limited ? { seconds: LIVE_SESSION_SECONDS } : {};
		const session = boundSession(answered.answer.output as LiveTranscription, call.input, {
			ms: ticket.leftMs,
			wait,
			...seconds,
		});
		const { abandon, ...output } = heard(session, passed, settle);
		const answer = { kind: "value", output } as const;
		return { answer: { task, answer }, priced: (usage) => usage, abandon };
	}
	const { output } = answered.answer;
	if ("usage" in output && output.usage) output.usage = boundUsage(output.usage, call, model);
	const measured = await measure(call, output, model);
	if (task === "text-generation") countWhole(output as ChatCompletion, measured);
	const cost = settle("ok", measured);
	return {
		answer: answered,
		neurons: shownNeurons(cost),
		priced: priced(model, () => cost),
		abandon: () => {},
	};
}

/** Our own count, where the engine gave none. */
function countWhole(completion: ChatCompletion, measured: Measured): void {
	if (!isCounted(completion.usage)) completion.usage = toUsage(measured);
}

const NOTHING: Measured = { quantities: {}, estimated: false };

/** What engines did that were asked beside another to be sooner, in micro-neurons. */
const hedged = (call: TaskCall, model: Model, { wasted }: Served): number =>
	wasted
		.filter(({ why }) => why === "hedge")
		.map(({ progress }) => measureStream(call, progress, model).quantities)
		.reduce((sum, quantities) => sum + microNeurons(model.prices, quantities), 0);

/** Micro-neurons. */
function costOf(usage: Usage, { prices }: Model): number {
	const { prompt_tokens: inputTokens, completion_tokens: outputTokens, prompt_tokens_details } = usage;
	const cachedTokens = prompt_tokens_details?.cached_tokens ?? 0;
	return microNeurons(prices, { inputTokens, cachedTokens, outputTokens, requests: 1 });
}

const priced =
	({ prices }: Model, cost: (usage: Usage) => number): Metered["priced"] =>
	(usage) =>
		prices.length === 0 ? usage : { ...usage, neurons: shownNeurons(cost(usage)) };

interface Passed {
	ticket: Ticket;
	/** Of what cut it. */
	tell(error: unknown): void;
}

interface Watched<T> {
	source: Source<T>;
	/** Lets go of the engine, whoever pulls. Says nothing of an end. */
	abandon(): void;
}

/** Of a stream that is the caller's to the last byte: not a byte of it is read. Gives how to let go of it. */
function heedEnd(
	events: ReadableStream<Uint8Array>,
	ended: Promise<AiError | undefined>,
	{ ticket, tell }: Passed,
	settle: (how: Passing) => void,
): () => void {
	ticket.begin();
	void ended.then((failure) => {
		settle(!failure ? "ok" : failure.key === "aborted" ? "left" : "cut");
		if (failure) tell(failure);
	});
	return () => void events.cancel().catch(() => {});
}

/** For a pull that nobody waits for. */
const neverAgain = (): Promise<never> => new Promise(() => {});

/** Passes everything on as it is asked for. `ended` is called once, with how it ended. */
function watched<T>(
	from: Source<T>,
	{ ticket, tell }: Passed,
	ended: (how: Passing) => void,
	see: (piece: T) => void = () => {},
): Watched<T> {
	/** Nobody reads it any more: a pull that is under way then ends, which is no end of the answer. */
	let left = false;
	let over = false;
	const cut = async (error: unknown): Promise<never> => {
		if (left) return neverAgain();
		over = true;
		ended(toAiError(error).key === "aborted" ? "left" : "cut");
		tell(error);
		throw error;
	};
	const pass = (piece: T | undefined): T | undefined | Promise<never> => {
		if (left) return neverAgain();
		try {
			if (piece === undefined) {
				over = true;
				ended("ok");
			} else {
				ticket.begin();
				see(piece);
			}
			return piece;
		} catch (error) {
			return cut(error);
		}
	};
	const source: Source<T> = {
		pull: () => from.pull().then(pass, cut),
		cancel(reason) {
			left = true;
			// A later stage that fails cancels with its failure; the caller's leaving has another reason, or none.
			const failed = reason instanceof AiError && reason.key !== "aborted";
			if (!over) ended(failed ? "cut" : "left");
			if (failed && !over) tell(reason);
			return from.cancel(reason);
		},
	};
	const abandon = () => {
		left = true;
		from.cancel(undefined).catch(() => {});
	};
	return { source, abandon };
}

/**
 * A session is paid by the sound that it heard, which its last event tells; one that is left, by the last word; one that
 * a bound has ended, by all that was sent.
 */
function heard(
	{ readable, writable, heardUntilEnd }: BoundedSession,
	passed: Passed,
	ended: (how: Passing, measured: Measured) => void,
): LiveTranscription & Pick<Metered, "abandon"> {
	let said: Pick<Extract<TranscriptionEvent, { kind: "ended" }>, "duration" | "channels"> | undefined;
	let heardSeconds = 0;
	const see = (event: TranscriptionEvent) => {
		if (event.kind === "ended") said = event;
		else if ("end" in event) heardSeconds = Math.max(heardSeconds, event.end);
	};
	const finish = (how: Passing) =>
		ended(how, {
			...measureLive(said ?? { duration: heardUntilEnd() ?? heardSeconds, channels: 1 }),
			estimated: said === undefined,
		});
	const { source, abandon } = watched(PulledStream.sourceOf(readable), passed, finish, see);
	return { writable, readable: new PulledStream(source), abandon };
}
