/**
 * An upstream's event stream, passed on as it came and watched on its way.
 *
 * The bytes are forwarded in whole events: an event that is cut, malformed or an error never reaches the reader, so
 * what it has is always good and another upstream may go on from there. Nothing is re-encoded. Each event is parsed
 * once, to be watched: without it neither a malformed event nor an error inside a stream could be told from an answer,
 * and beside the call for each chunk it costs little (about 1 us of 100).
 *
 * It ends well after `data: [DONE]`, or where the upstream stopped when every choice had its `finish_reason`: then
 * `[DONE]` is added. Any other end is an error.
 */
import { createParser } from "eventsource-parser";
import { AiError } from "../errors.ts";
import { concat } from "../media/bytes.ts";
import { DONE, isDone } from "../sse.ts";
import type { ChatDelta } from "../tasks/text-generation.ts";
import { SentUsage, usageOf } from "../tasks/usage.ts";
import type { Deadline } from "./deadline.ts";
import { EventSplitter } from "./event-splitter.ts";
import { StreamProgress } from "./progress.ts";
import { type Call, failureOfBody, failureOfCut, failureOfShape } from "./upstream-failure.ts";

/** Room for one event. The largest are images in base64. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** How long an upstream may keep its connection after `[DONE]`. Waiting for its end lets it be used again. */
const CLOSE_GRACE_MS = 1000;

type Output = ReadableStreamDefaultController<Uint8Array>;

/** What the reader gets next: bytes and perhaps the end, or a failure; nothing, when it has gone. */
interface Step {
	bytes?: Uint8Array;
	ended?: boolean;
	error?: AiError;
}

/**
 * Takes over `source` and `deadline`. Resolves as soon as there is something to pass on; what ends or fails before that
 * fails here, while another upstream can still be asked. A comment is something: upstreams keep waiting callers with it.
 * Cancelling the result ends the upstream's fetch at once.
 *
 * @param choices how many answers were asked for (`n`).
 */
export async function watchEvents(
	call: Call,
	source: ReadableStream<Uint8Array>,
	deadline: Deadline,
	choices: number,
): Promise<{ events: ReadableStream<Uint8Array>; progress: StreamProgress }> {
	const { idleMs } = call.target.timeouts;
	const reader = source.getReader();
	const splitter = new EventSplitter();
	const watch = new Watch(call, choices);
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
		if (!watch.complete) return fail(ifCut);
		over = true;
		deadline.close();
		reader.cancel().catch(() => {});
		return { bytes: watch.done ? NOTHING : DONE_BYTES, ended: true };
	};
	/** Gives the events up to the first that is not good. */
	const take = (chunk: Uint8Array): Uint8Array => {
		const { bytes, ends } = splitter.push(chunk);
		let good = 0;
		for (const end of ends) {
			failure = watch.see(bytes.subarray(good, end));
			if (failure) break;
			good = end;
			if (watch.done) break;
		}
		if (splitter.heldBytes > MAX_EVENT_BYTES)
			failure ??= failureOfShape(call, `made of events below ${MAX_EVENT_BYTES} bytes`);
		return bytes.subarray(0, good);
	};
	/** A last event without its blank line still counts, as every client treats it. */
	const takeRest = (): Step => {
		const rest = splitter.takeRest();
		if (rest.length === 0 || watch.done) return stop(failureOfCut(call));
		const last = concat([rest, BLANK_LINE]);
		const error = watch.see(last, failureOfCut);
		return error || !watch.sawEvent ? stop(error ?? failureOfCut(call)) : { bytes: last };
	};
	const advance = async (): Promise<Step> => {
		// A read that completes no event must be followed by another, or the puller would wait for ever.
		while (!over) {
			if (failure) return fail(failure);
			deadline.expect(watch.done ? Math.min(idleMs, CLOSE_GRACE_MS) : idleMs);
			const read = await reader.read().catch((error: unknown) => ({ error }));
			if (over) break;
			deadline.rest();
			if ("error" in read) return stop(failureOfCut(call, read.error));
			if (read.done) return takeRest();
			if (watch.done) continue;
			const bytes = take(read.value);
			if (bytes.length > 0) return { bytes };
		}
		return {};
	};
	const give = (output: Output, { bytes = NOTHING, ended, error }: Step) => {
		if (bytes.length > 0) output.enqueue(bytes);
		if (error) output.error(error);
		else if (ended) output.close();
	};

	/** Read, but not yet asked for. */
	let first: Step | undefined = await deadline.race(advance()).catch((error: AiError) => fail(error));
	if (first.error) throw first.error;

	const timeOut = (output: Output) => {
		if (over) return;
		if (first) give(output, first);
		first = undefined;
		const reason: AiError = deadline.signal.reason;
		give(output, reason.key === "aborted" ? fail(reason) : stop(reason));
	};
	const events = new ReadableStream<Uint8Array>(
		{
			start(output) {
				deadline.signal.addEventListener("abort", () => timeOut(output));
				if (deadline.signal.aborted) timeOut(output);
			},
			async pull(output) {
				const step = first ?? (await advance());
				first = undefined;
				give(output, step);
			},
			cancel() {
				release(new AiError("aborted"));
			},
		},
		{ highWaterMark: 0 },
	);
	return { events, progress: watch.progress };
}

const NOTHING = new Uint8Array();
const DONE_BYTES = new TextEncoder().encode(DONE);
const BLANK_LINE = new TextEncoder().encode("\n\n");

/** As far as it is read; `text` is how `/completions` says what a chat has in `delta`. */
interface SentChoice {
	index?: unknown;
	finish_reason?: unknown;
	delta?: ChatDelta | null;
	text?: string | null;
}

/** What the events have told so far. */
class Watch {
	/** `[DONE]` was seen. */
	done = false;
	/** The last bytes seen were an event, not a comment or half a line. */
	sawEvent = false;
	readonly progress = new StreamProgress();
	readonly #call: Call;
	readonly #choices: number;
	readonly #finished = new Set<number>();
	readonly #decoder = new TextDecoder();
	readonly #parser = createParser({
		onEvent: ({ event, data }) => {
			this.sawEvent = true;
			this.#error = this.#read(event, data);
		},
	});
	#error: AiError | undefined;
	#ifMalformed: (call: Call) => AiError = failureOfEvent;

	constructor(call: Call, choices: number) {
		this.#call = call;
		this.#choices = choices;
	}

	/** Nothing is missing but, perhaps, `[DONE]`. */
	get complete(): boolean {
		return this.done || this.#finished.size >= this.#choices;
	}

	/** Reads one event, its blank line included. */
	see(event: Uint8Array, ifMalformed: (call: Call) => AiError = failureOfEvent): AiError | undefined {
		this.sawEvent = false;
		this.#error = undefined;
		this.#ifMalformed = ifMalformed;
		this.#parser.feed(this.#decoder.decode(event));
		return this.#error;
	}

	#read(name: string | undefined, data: string): AiError | undefined {
		if (isDone(data)) {
			this.done = true;
			return undefined;
		}
		let chunk: unknown;
		try {
			chunk = JSON.parse(data);
		} catch {
			return this.#ifMalformed(this.#call);
		}
		if (typeof chunk !== "object" || chunk === null) return this.#ifMalformed(this.#call);
		// `object: "error"` is how older vLLM marks the body of an error.
		const { error, object, choices, usage } = chunk as Record<string, unknown>;
		if (name === "error" || object === "error" || (error !== undefined && error !== null))
			return failureOfBody(this.#call, chunk);
		if (Array.isArray(choices)) for (const choice of choices) this.#note(choice);
		const counted = SentUsage.safeParse(usage);
		if (counted.success) this.progress.count(usageOf(counted.data));
		return undefined;
	}

	#note(choice: SentChoice | null): void {
		const said = choice?.delta ?? { content: choice?.text };
		this.progress.pass(said);
		// Some engines send "" for as long as there is none.
		if (!choice?.finish_reason || typeof choice.finish_reason !== "string") return;
		this.#finished.add(typeof choice.index === "number" ? choice.index : 0);
	}
}

const failureOfEvent = (call: Call): AiError => failureOfShape(call, "a chat stream");
