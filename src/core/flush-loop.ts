/**
 * Sends an isolate's unsent messages to an object, in steps with waits between them.
 *
 * A flush runs in the I/O context of the request that started it, and the runtime may end that context. So nothing waits for a
 * flush to return: after `LOST_AFTER_MS` another request starts a new one.
 */
import { settledElsewhere } from "./settled-elsewhere.ts";

/** A flush or a call of this age is considered lost. */
export const LOST_AFTER_MS = 10_000;
/** Consecutive failures after which a flush stops. The next message starts another. */
const MAX_TRIES = 4;
/** Waits after failures: 0.4, 1.6 and 6.4 seconds. */
const RETRY_MS = 100;
const WAIT_GROWTH = 4;

export interface FlushServices {
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
	wait(milliseconds: number): Promise<void>;
	now(): number;
}

export interface FlushWork {
	/** Sends what there is. Returns the milliseconds until the next step; nothing after the last one. */
	step(): Promise<number | undefined>;
	/** The step has failed too often. */
	onGiveUp(cause: unknown): void;
	/** The flush has ended, and no other one has replaced it. */
	onEnd(): void;
}

/** The flushes of one work. */
export interface Flushes {
	/** A flush has begun, and is not considered lost. */
	readonly isRunning: boolean;
	/** Starts a flush, in place of the present one. The first step follows after `wait` milliseconds. */
	start(wait: number): void;
	/** Ends the wait of the flush, and the flush. A step that is under way ends first. */
	stop(): void;
}

/** The wait after so many consecutive failures, in milliseconds. Nothing: the flush stops. */
export const retryAfter = (tries: number): number | undefined =>
	tries < MAX_TRIES ? RETRY_MS * WAIT_GROWTH ** tries : undefined;

interface Flush {
	startedAt: number;
	/** `waiting`: for further messages. `retrying`: because a step failed. */
	state: "waiting" | "stepping" | "retrying";
	/** Resolves when the flush is stopped. */
	stopped: PromiseWithResolvers<void>;
}

export class FlushLoop implements Flushes {
	readonly #services: FlushServices;
	readonly #work: FlushWork;
	#flush: Flush | undefined;

	constructor(services: FlushServices, work: FlushWork) {
		this.#services = services;
		this.#work = work;
	}

	/** The state of the flush, unless it is considered lost. */
	get state(): Flush["state"] | undefined {
		const age = this.#services.now() - (this.#flush?.startedAt ?? Number.NEGATIVE_INFINITY);
		return age < LOST_AFTER_MS ? this.#flush?.state : undefined;
	}

	get isRunning(): boolean {
		return this.state !== undefined;
	}

	start(wait: number): void {
		const flush: Flush = {
			startedAt: this.#services.now(),
			state: "waiting",
			stopped: settledElsewhere(),
		};
		this.#flush = flush;
		try {
			this.#services.waitUntil(this.#run(flush, wait));
		} catch {
			// No request is running: the next one starts a flush.
			this.#flush = undefined;
		}
	}

	stop(): void {
		this.#flush?.stopped.resolve();
		this.#flush = undefined;
	}

	async #run(flush: Flush, firstWait: number): Promise<void> {
		let tries = 0;
		for (let wait: number | undefined = firstWait; wait !== undefined; ) {
			if (wait > 0) await Promise.race([this.#services.wait(wait), flush.stopped.promise]);
			if (this.#flush !== flush) return;
			flush.state = "stepping";
			try {
				wait = await this.#work.step();
				flush.state = "waiting";
				tries = 0;
			} catch (cause) {
				flush.state = "retrying";
				wait = retryAfter(++tries);
				if (wait === undefined) this.#work.onGiveUp(cause);
			}
		}
		if (this.#flush !== flush) return;
		this.#flush = undefined;
		this.#work.onEnd();
	}
}
