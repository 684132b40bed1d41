/**
 * Sends an isolate's unsent messages to objects, in steps with waits between them: the flushes of one owner, or of many in one loop. With a
 * loop for each, an owner that waits for its next message would keep the I/O context of a request, and a timer. The steps of owners that are
 * due begin together, so their calls of one object can share a commit. The loop sleeps until the first of them is due.
 *
 * The loop runs in the I/O context of the request that started it, and the runtime may end that context. So nothing waits for a flush to
 * return: after `LOST_AFTER_MS` the next message starts another loop, which goes on with all owners. A step has no timer: if it hangs, the
 * next message of its owner replaces it, or the next wake of the loop makes it again.
 */
import { hasPassed } from "./elapsed.ts";
import { settledElsewhere } from "./settled-elsewhere.ts";

/** A loop, a step or a call of this age is considered lost. */
export const LOST_AFTER_MS = 10_000;
/** Consecutive failures after which a flush stops. The next message starts another. */
const MAX_TRIES = 4;
/** Waits after failures: 0.4, 1.6 and 6.4 seconds. */
const RETRY_MS = 100;
const WAIT_GROWTH = 4;

export interface FlushServices {
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
	/** May reject if the signal fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
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
	/**
	 * Absent if there is no flush, or its loop is considered lost. `waiting`: for further messages. `retrying`: because a step failed.
	 */
	readonly state: "waiting" | "stepping" | "retrying" | undefined;
	/** Replaces the flush by one whose first step begins after `wait` milliseconds. */
	start(wait: number): void;
	/** Ends the wait of the flush, and the flush. A step that is under way ends first. */
	stop(): void;
}

interface Flush {
	readonly work: FlushWork;
	/** The beginning of `wait`. */
	since: number;
	/** Until the next step; while one is under way, until that is considered lost. */
	wait: number;
	/** The step that is under way. */
	step?: object | undefined;
	/** Consecutive failures. */
	tries: number;
}

interface Loop {
	startedAt: number;
	/** The end of its sleep. */
	wakesAt: number;
	/** Ends its sleep. */
	wake(): void;
}

export class FlushSchedule {
	readonly #services: FlushServices;
	readonly #flushes = new Set<Flush>();
	/** Absent while no flush waits. */
	#loop: Loop | undefined;

	constructor(services: FlushServices) {
		this.#services = services;
	}

	flushesOf(work: FlushWork): Flushes {
		const schedule = this;
		let flush: Flush | undefined;
		return {
			get state() {
				if (!flush || !schedule.#flushes.has(flush)) return undefined;
				if (flush.step) return isLost(flush.since, schedule.#services.now()) ? undefined : "stepping";
				if (!schedule.#isRunning) return undefined;
				return flush.tries > 0 ? "retrying" : "waiting";
			},
			start: (wait) => {
				if (flush) this.#flushes.delete(flush);
				const since = this.#services.now();
				flush = { work, since, wait, tries: 0 };
				this.#flushes.add(flush);
				this.#ensureLoop(flush, since);
			},
			stop: () => {
				// The loop ends if no other flush waits.
				if (flush && this.#flushes.delete(flush)) this.#loop?.wake();
			},
		};
	}

	get #isRunning(): boolean {
		const loop = this.#loop;
		return loop !== undefined && !isLost(loop.startedAt, this.#services.now());
	}

	/** `startedAt`: of the loop, if it is a new one. */
	#ensureLoop({ since, wait }: Flush, startedAt: number): void {
		const before = this.#loop;
		if (before && this.#isRunning) {
			if (since + wait < before.wakesAt) before.wake();
			return;
		}
		const loop: Loop = { startedAt, wakesAt: 0, wake: () => {} };
		this.#loop = loop;
		// If it is not lost, it ends.
		before?.wake();
		try {
			this.#services.waitUntil(this.#run(loop));
		} catch {
			// No request is running: the next message starts a loop.
			this.#loop = undefined;
		}
	}

	async #run(loop: Loop): Promise<void> {
		for (;;) {
			const now = this.#services.now();
			loop.wakesAt = this.#firstDueAt(now);
			if (loop.wakesAt === Number.POSITIVE_INFINITY) break;
			const isTime = await (loop.wakesAt > now ? this.#sleep(loop, loop.wakesAt - now) : true);
			if (this.#loop !== loop) return;
			// A timer may be early.
			const until = Math.max(this.#services.now(), isTime ? loop.wakesAt : 0);
			const steps: Promise<void>[] = [];
			for (const flush of this.#flushes) if (isDue(flush, until)) steps.push(this.#step(flush, loop));
			// The steps of the next time do not wait for those of this one: a call may hang.
			if (steps.length > 0) this.#services.waitUntil(Promise.all(steps));
		}
		this.#loop = undefined;
	}

	/** Infinite if no flush waits: the end of a step starts another loop. */
	#firstDueAt(now: number): number {
		let first = Number.POSITIVE_INFINITY;
		for (const flush of this.#flushes)
			if (!flush.step) first = Math.min(first, isDue(flush, now) ? now : flush.since + flush.wait);
		return first;
	}

	/** Returns false if it was woken. */
	async #sleep(loop: Loop, milliseconds: number): Promise<boolean> {
		const timer = new AbortController();
		const { promise, resolve } = settledElsewhere<boolean>();
		loop.wake = () => resolve(false);
		this.#services.wait(milliseconds, timer.signal).then(
			() => resolve(true),
			() => {},
		);
		// Another request may wake it, so the loop awaits the promise itself.
		const isTime = await promise;
		if (!isTime) timer.abort();
		return isTime;
	}

	/** Never rejects. */
	async #step(flush: Flush, { startedAt }: Loop): Promise<void> {
		const { now } = this.#services;
		const step = {};
		Object.assign(flush, { since: now(), wait: LOST_AFTER_MS, step });
		let wait: number | undefined;
		try {
			wait = await flush.work.step();
			flush.tries = 0;
		} catch (cause) {
			wait = retryAfter(++flush.tries);
			if (wait === undefined) flush.work.onGiveUp(cause);
		}
		// It was considered lost, and has been made again.
		if (flush.step !== step) return;
		if (wait === undefined) {
			if (this.#flushes.delete(flush)) flush.work.onEnd();
			return;
		}
		Object.assign(flush, { since: now(), wait, step: undefined });
		// The context has the age that it had in the loop before.
		if (this.#flushes.has(flush)) this.#ensureLoop(flush, startedAt);
	}
}

const isDue = ({ since, wait }: Flush, now: number): boolean => hasPassed(wait, since, now);

/** Whether what began at this time, and has not ended, is considered lost. */
export const isLost = (since: number, now: number): boolean => hasPassed(LOST_AFTER_MS, since, now);

/** The wait after so many consecutive failures, in milliseconds. Nothing: there is no other try. */
export const retryAfter = (tries: number): number | undefined =>
	tries < MAX_TRIES ? RETRY_MS * WAIT_GROWTH ** tries : undefined;
