/**
 * An upstream's stream of OpenAI chunks that goes to the caller as it is: the runtime moves its bytes, and no JavaScript
 * runs for a chunk. A second branch of it is looked at now and then, all that has gathered at once: for the meter, for
 * the end, and for an upstream that falls silent. docs/routing.md, "Passthrough".
 *
 * The first event is looked at before anything is passed on. What comes later is with the caller before it is looked
 * at: an event that is cut or malformed cannot be taken back.
 *
 * Observed of workerd: either branch pulls for both. So the look waits for the upstream alone, whether the caller reads
 * or not; and of a caller who does not, each look takes up to its own bytes, which then wait in memory.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { concat } from "../../media/bytes.ts";
import { EventSplitter } from "../../streams/event-splitter.ts";
import type { StreamErrorFormatter } from "../../tasks/task.ts";
import type { Deadline } from "./deadline.ts";
import {
	BLANK_LINE,
	CLOSE_GRACE_MS,
	type EventReader,
	type FailureOfCall,
	failureOfEvent,
	MAX_EVENT_BYTES,
	type Relayed,
} from "./relay.ts";
import { type Call, failureOfCut, failureOfShape, failureOfSize } from "./upstream-failure.ts";

const LOOK_EVERY_MS = 100;
/** Each open stream holds so much for the look that waits. */
const SHORT_LOOK_BYTES = 4 * 1024;
/**
 * Most bytes of comments before the first event. The branch to the caller keeps them until the stream begins, and the
 * runtime cannot drop them: an engine that sends more has failed.
 */
const MAX_EARLY_BYTES = 1024 * 1024;
/** Where more than that has gathered: some hundred events. */
const LONG_LOOK_BYTES = 64 * 1024;
const NOTHING = new Uint8Array();

/** Takes over `source` and `deadline`. Resolves with the first good event; what is wrong before it fails here. */
export async function passThrough(
	call: Call,
	source: ReadableStream<Uint8Array>,
	deadline: Deadline,
	watch: EventReader,
	formatStreamError: StreamErrorFormatter,
): Promise<Relayed> {
	const [toCaller, toLook] = source.tee();
	const begin = async () => {
		const onlooker = new Onlooker(call, toLook, deadline, watch);
		await onlooker.begin();
		return onlooker;
	};
	const onlooker = await deadline.race(begin()).catch((error: unknown) => {
		const failure = toAiError(error);
		deadline.abort(failure);
		toCaller.cancel(failure).catch(() => {});
		throw failure;
	});
	const { readable, writable } = new IdentityTransformStream();
	const passed = toCaller.pipeTo(writable, { preventClose: true, preventAbort: true });
	const ended = passOn(passed, onlooker, deadline)
		.then((ending) => close(writable, ending, formatStreamError))
		// Whoever waits for it settles the bill.
		.catch(toAiError);
	return { events: readable, progress: watch.progress, ended };
}

/** What is left to say when the upstream has stopped. */
interface Ending {
	bytes: Uint8Array;
	failure?: AiError;
	/** The upstream has told the caller of the failure itself. */
	told?: true;
}

/** `broken`: one of the two sides is gone, and it is not known which. */
type Passed = Ending & { broken: boolean };

async function passOn(passed: Promise<void>, onlooker: Onlooker, deadline: Deadline): Promise<Passed> {
	let broken = false;
	const stopped = passed.catch(() => {
		broken = !deadline.signal.aborted;
		// Where it is the caller, the upstream would go on for the other branch.
		deadline.abort(new AiError("aborted"));
	});
	await onlooker.lookUntil(stopped);
	deadline.close();
	// What has gathered may still be on its way to a slow caller, who alone keeps it: the upstream is over.
	await stopped;
	const { aborted, reason } = deadline.signal;
	return { ...onlooker.end(aborted && !broken ? reason : undefined), broken };
}

/** Says the last words. With what ended the stream before its end. */
async function close(
	writable: WritableStream<Uint8Array>,
	{ bytes, failure, told, broken }: Passed,
	formatStreamError: StreamErrorFormatter,
): Promise<AiError | undefined> {
	const writer = writable.getWriter();
	const words = failure && !told ? new TextEncoder().encode(formatStreamError(failure)) : NOTHING;
	const last = concat([bytes, words]);
	const heard = Promise.all([last.length > 0 && writer.write(last), writer.close()]).then(
		() => true,
		() => false,
	);
	// Whether they are heard tells which side is gone.
	return !broken || (await heard) ? failure : new AiError("aborted");
}

/** Looks at what passes. */
class Onlooker {
	readonly #call: Call;
	readonly #reader: ReadableStreamBYOBReader;
	readonly #deadline: Deadline;
	readonly #watch: EventReader;
	readonly #splitter: EventSplitter;
	#begun = false;
	#earlyBytes = 0;
	#mayHaveMore = false;
	/** Nothing more comes, because the connection broke where there is a `cut`. */
	#over: { cut?: unknown } | undefined;
	/** Of an event; `#told`: the upstream's own word. */
	#failure: AiError | undefined;
	#told = false;
	#ending: Ending | undefined;

	constructor(call: Call, source: ReadableStream<Uint8Array>, deadline: Deadline, watch: EventReader) {
		this.#call = call;
		this.#reader = source.getReader({ mode: "byob" });
		this.#deadline = deadline;
		this.#watch = watch;
		this.#splitter = new EventSplitter(watch.format);
	}

	/** Until the first event is good. Throws what is the matter where there is none. */
	async begin(): Promise<void> {
		const { world, target } = this.#call;
		const { idleMs, firstTokenMs } = target.timeouts;
		/** Whatever the upstream sends to keep its caller waiting. */
		const firstBy = firstTokenMs === undefined ? undefined : world.now() + firstTokenMs;
		while (!this.#begun && !this.#failure && !this.#over)
			await this.#look(firstBy === undefined ? idleMs : Math.max(1, firstBy - world.now()), SHORT_LOOK_BYTES);
		const failure = this.#begun ? undefined : this.end().failure;
		if (failure) throw failure;
	}

	/** Until the upstream has stopped, and all that it said is known. `stopped`: nothing passes any more. */
	async lookUntil(stopped: Promise<void>): Promise<void> {
		let passing = true;
		let wake = () => {};
		void stopped.then(() => {
			passing = false;
			wake();
		});
		const pause = (): Promise<void> =>
			new Promise((resolve) => {
				const timer = setTimeout(resolve, LOOK_EVERY_MS);
				wake = () => {
					clearTimeout(timer);
					resolve();
				};
			});
		while (!this.#over) {
			if (this.#failure && !this.#told) this.#deadline.abort(this.#failure);
			if (passing && !this.#mayHaveMore) await pause();
			const { idleMs } = this.#call.target.timeouts;
			const isEnd = this.#watch.done || this.#told;
			await this.#look(
				isEnd ? Math.min(idleMs, CLOSE_GRACE_MS) : idleMs,
				passing && !this.#mayHaveMore ? SHORT_LOOK_BYTES : LONG_LOOK_BYTES,
			);
		}
	}

	/** Asked when the upstream has stopped. `reason`: what stopped it from here. */
	end(reason?: AiError): Ending {
		this.#ending ??= this.#conclude(reason);
		return this.#ending;
	}

	#conclude(reason: AiError | undefined): Ending {
		const rest = this.#splitter.takeRest();
		// Of half an event, or a last one without its blank line, which still counts, as every client treats it.
		const isOpen = rest.length > 0 && !this.#watch.done;
		const bytes = isOpen ? BLANK_LINE : NOTHING;
		const torn = isOpen && !this.#failure ? this.#see(concat([rest, BLANK_LINE]), failureOfCut) : undefined;
		const failure = this.#failure ?? (this.#told ? torn : undefined);
		if (failure) return { bytes, failure, ...(this.#told && { told: true }) };
		if (reason?.key === "aborted") return { bytes, failure: reason };
		const last = this.#watch.end();
		if (last) return { bytes: concat([bytes, last.bytes]) };
		return { bytes, failure: reason ?? torn ?? failureOfCut(this.#call, this.#over?.cut) };
	}

	/** Waits for what comes next, and takes all that has come. */
	async #look(limitMs: number, size: number): Promise<void> {
		this.#deadline.expect(limitMs);
		const read = await this.#reader.read(new Uint8Array(size)).catch((cut: unknown) => {
			this.#over = { cut };
		});
		this.#deadline.rest();
		this.#mayHaveMore = read?.value?.length === size;
		if (read?.done) this.#over = {};
		else if (read) this.#take(read.value);
	}

	/** What a reader throws of itself is a failure like any other: the caller would wait for an end. */
	#take(chunk: Uint8Array): void {
		if (this.#failure || this.#watch.done) return;
		try {
			this.#seeAll(chunk);
		} catch (error) {
			this.#failure = toAiError(error);
		}
	}

	#seeAll(chunk: Uint8Array): void {
		const { bytes, ends } = this.#splitter.push(chunk);
		if (ends.length > 1 && this.#watch.seeTogether?.(bytes, ends.length)) this.#begun = true;
		else this.#seeEach(bytes, ends);
		if (!this.#begun && this.#earlyBytes > MAX_EARLY_BYTES)
			this.#failure ??= failureOfShape(this.#call, "a chat stream: it sent comments alone");
		if (this.#splitter.heldBytes > MAX_EVENT_BYTES)
			this.#failure ??= failureOfSize(this.#call, "an event", MAX_EVENT_BYTES);
	}

	/** Up to one that is not good, or the last. */
	#seeEach(bytes: Uint8Array, ends: readonly number[]): void {
		let from = 0;
		for (const end of ends) {
			this.#failure = this.#see(bytes.subarray(from, end), failureOfEvent);
			if (this.#failure) return;
			// A comment is no beginning.
			this.#begun ||= this.#watch.sawEvent;
			if (!this.#begun) this.#earlyBytes += end - from;
			from = end;
			if (this.#watch.done) return;
		}
	}

	#see(event: Uint8Array, ifMalformed: FailureOfCall): AiError | undefined {
		let malformed: AiError | undefined;
		const markMalformed: FailureOfCall = (call) => {
			malformed = ifMalformed(call);
			return malformed;
		};
		// The caller has the bytes: nobody needs what they say once more.
		const failure = this.#watch.see(event, markMalformed, []);
		this.#told = failure !== malformed;
		return failure;
	}
}
