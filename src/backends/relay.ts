/**
 * An upstream's stream on its way to the reader: events out of bytes, time, the first event, the end, failures and
 * cancelling. What becomes of an event is an {@link EventReader}'s matter: passed on as it came (`event-stream.ts`), or
 * said in OpenAI's words (`translated-stream.ts`).
 *
 * An event that is cut, malformed or an error never reaches the reader, so what it has is always good and another
 * upstream may go on from there.
 */
import { AiError } from "../errors.ts";
import { concat } from "../media/bytes.ts";
import { PulledStream } from "../media/pulled-stream.ts";
import type { Deadline } from "./deadline.ts";
import { type EventFormat, EventSplitter } from "./event-splitter.ts";
import type { StreamProgress } from "./progress.ts";
import { type Call, failureOfCut, failureOfShape } from "./upstream-failure.ts";

/** Room for one event. The largest are images in base64. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** How long an upstream may keep its connection after its last event. Waiting for its end lets it be used again. */
const CLOSE_GRACE_MS = 1000;

export type FailureOfCall = (call: Call) => AiError;

/** Reads one stream's events, and says what to pass on for them. */
export interface EventReader {
	readonly format: EventFormat;
	readonly progress: StreamProgress;
	/** The last bytes seen were an event, not a comment or half a line. */
	readonly sawEvent: boolean;
	/** The answer is over, and its end has been passed on: nothing that follows is looked at. */
	readonly done: boolean;
	/** Reads one event, the line that ends it included. */
	see(event: Uint8Array, ifMalformed: FailureOfCall): AiError | undefined;
	/** What to pass on for the events seen since it was last asked. `good`: their bytes, without one that failed. */
	pass(good: Uint8Array): Uint8Array;
	/** The upstream has stopped: what is left to pass on; `undefined`: it stopped too soon. Asked once. */
	end(): Uint8Array | undefined;
}

export interface Relayed {
	events: ReadableStream<Uint8Array>;
	progress: StreamProgress;
}

/** What the reader gets next: bytes and perhaps the end, or a failure; nothing at the end, or when it has gone. */
interface Step {
	bytes?: Uint8Array;
	ended?: boolean;
	error?: AiError;
}

/**
 * Takes over `source` and `deadline`. Resolves as soon as there is something to pass on; what ends or fails before that
 * fails here, while another upstream can still be asked. Cancelling the result ends the upstream's fetch at once.
 */
export async function relay(
	call: Call,
	source: ReadableStream<Uint8Array>,
	deadline: Deadline,
	watch: EventReader,
): Promise<Relayed> {
	const { now } = call.world;
	const { idleMs, firstTokenMs } = call.target.timeouts;
	/** Whatever the upstream sends to keep its caller waiting. */
	const firstBy = firstTokenMs === undefined ? undefined : now() + firstTokenMs;
	let begun = false;
	const reader = source.getReader();
	const splitter = new EventSplitter(watch.format);
	let over = false;
	/** Of an event that has been seen. It is told after the good ones before it. */
	let failure: AiError | undefined;

	const release = (reason: AiError) => {
		over = true;
		deadline.abort(reason);
		reader.cancel(reason).catch(() => {});
	};
	const fail = (error: AiError): Step => {
		release(error);
		return { error };
	};
	/** The upstream has stopped: by itself, by failing, or because its time was up. */
	const stop = (ifCut: AiError): Step => {
		const bytes = watch.end();
		if (!bytes) return fail(ifCut);
		over = true;
		deadline.close();
		reader.cancel().catch(() => {});
		return { bytes, ended: true };
	};
	/** Gives what the events up to the first that is not good stand for. */
	const take = (chunk: Uint8Array): Uint8Array => {
		const { bytes, ends } = splitter.push(chunk);
		let good = 0;
		for (const end of ends) {
			failure = watch.see(bytes.subarray(good, end), failureOfEvent);
			if (failure) break;
			good = end;
			if (watch.done) break;
		}
		if (splitter.heldBytes > MAX_EVENT_BYTES)
			failure ??= failureOfShape(call, `made of events below ${MAX_EVENT_BYTES} bytes`);
		return watch.pass(bytes.subarray(0, good));
	};
	/** A last event without its blank line still counts, as every client treats it. */
	const takeRest = (): Step => {
		const rest = splitter.takeRest();
		if (rest.length === 0 || watch.done) return stop(failureOfCut(call));
		const last = concat([rest, BLANK_LINE]);
		const error = watch.see(last, failureOfCut);
		return error || !watch.sawEvent ? stop(error ?? failureOfCut(call)) : { bytes: watch.pass(last) };
	};
	const advance = async (): Promise<Step> => {
		// A read that gives nothing to pass on must be followed by another, or the puller would wait for ever.
		while (!over) {
			if (failure) return fail(failure);
			const limitMs = begun || firstBy === undefined ? idleMs : Math.max(1, firstBy - now());
			deadline.expect(watch.done ? Math.min(idleMs, CLOSE_GRACE_MS) : limitMs);
			const read = await reader.read().catch((error: unknown) => ({ error }));
			if (over) break;
			deadline.rest();
			if ("error" in read) return stop(failureOfCut(call, read.error));
			if (read.done) {
				const step = takeRest();
				if (step.bytes?.length !== 0 || step.ended) return step;
				continue;
			}
			if (watch.done) continue;
			const bytes = take(read.value);
			if (bytes.length > 0) return { bytes };
		}
		return {};
	};
	/** Read, but not yet asked for. */
	let first: Step | undefined = await deadline.race(advance()).catch((error: AiError) => fail(error));
	if (first.error) throw first.error;
	begun = true;

	/** What ended the stream between two pulls, or the end behind the last bytes. */
	let last: Step | undefined;
	/** A pull that is under way. */
	let asked: PromiseWithResolvers<Step> | undefined;
	const timeOut = () => {
		if (over) return;
		const reason: AiError = deadline.signal.reason;
		last = reason.key === "aborted" ? fail(reason) : stop(reason);
		asked?.resolve({});
	};
	deadline.signal.addEventListener("abort", timeOut);
	if (deadline.signal.aborted) timeOut();

	const next = async (): Promise<Step> => {
		if (first) {
			const step = first;
			first = undefined;
			return step;
		}
		if (last) return last;
		asked = Promise.withResolvers();
		advance().then(asked.resolve, asked.reject);
		const step = await asked.promise;
		asked = undefined;
		return last ?? step;
	};
	const events = new PulledStream<Uint8Array>({
		async pull() {
			const { bytes, ended, error } = await next();
			if (error) throw error;
			if (ended) last = {};
			return bytes?.length ? bytes : undefined;
		},
		async cancel() {
			release(new AiError("aborted"));
		},
	});
	return { events, progress: watch.progress };
}

const BLANK_LINE = new TextEncoder().encode("\n\n");
const failureOfEvent = (call: Call): AiError => failureOfShape(call, "a chat stream");
