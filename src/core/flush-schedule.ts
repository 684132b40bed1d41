/**
 * The flushes of many owners in one loop. With a loop for each, an owner that waits for its next message would keep the I/O context of
 * a request, and a timer. The steps of owners that are due begin together, so their calls of one object can share a commit.
 *
 * The loop runs in the context of the request that started it, and the runtime may end that context. So after `LOST_AFTER_MS` the next
 * message starts another one, which goes on with all owners.
 */
import { type Flushes, type FlushServices, type FlushWork, LOST_AFTER_MS, retryAfter } from "./flush-loop.ts";

interface ScheduledFlush {
	work: FlushWork;
	/** When the next step begins; while one is under way, when that is considered lost. */
	dueAt: number;
	/** Consecutive failures. */
	tries: number;
}

export class FlushSchedule {
	readonly #services: FlushServices;
	readonly #gridMs: number;
	readonly #flushes = new Set<ScheduledFlush>();
	#loop: { startedAt: number } | undefined;

	/** Steps begin at multiples of `gridMs`. */
	constructor(services: FlushServices, gridMs: number) {
		this.#services = services;
		this.#gridMs = gridMs;
	}

	flushesOf(work: FlushWork): Flushes {
		const schedule = this;
		let flush: ScheduledFlush | undefined;
		const stop = (): void => {
			if (flush) this.#flushes.delete(flush);
		};
		return {
			get isRunning() {
				return flush !== undefined && schedule.#flushes.has(flush) && schedule.#isRunning;
			},
			start: (wait) => {
				stop();
				flush = { work, dueAt: this.#services.now() + wait, tries: 0 };
				this.#flushes.add(flush);
				this.#ensureLoop();
			},
			stop,
		};
	}

	get #isRunning(): boolean {
		const age = this.#services.now() - (this.#loop?.startedAt ?? Number.NEGATIVE_INFINITY);
		return age < LOST_AFTER_MS;
	}

	#ensureLoop(): void {
		if (this.#isRunning) return;
		const loop = { startedAt: this.#services.now() };
		this.#loop = loop;
		try {
			this.#services.waitUntil(this.#run(loop));
		} catch {
			// No request is running: the next message starts a loop.
			this.#loop = undefined;
		}
	}

	async #run(loop: object): Promise<void> {
		while (this.#flushes.size > 0) {
			const now = this.#services.now();
			await this.#services.wait((Math.floor(now / this.#gridMs) + 1) * this.#gridMs - now);
			if (this.#loop !== loop) return;
			const steps: Promise<void>[] = [];
			const until = this.#services.now();
			for (const flush of this.#flushes) if (flush.dueAt <= until) steps.push(this.#step(flush));
			// The steps of the next time do not wait for those of this one: a call may hang.
			this.#services.waitUntil(Promise.all(steps));
		}
		if (this.#loop === loop) this.#loop = undefined;
	}

	/** Never rejects. */
	async #step(flush: ScheduledFlush): Promise<void> {
		const { now } = this.#services;
		flush.dueAt = now() + LOST_AFTER_MS;
		let wait: number | undefined;
		try {
			wait = await flush.work.step();
			flush.tries = 0;
		} catch (cause) {
			wait = retryAfter(++flush.tries);
			if (wait === undefined) flush.work.onGiveUp(cause);
		}
		if (wait !== undefined) flush.dueAt = now() + wait;
		else if (this.#flushes.delete(flush)) flush.work.onEnd();
	}
}
