/**
 * The flushes of many owners in one loop. With a loop for each, an owner that waits for its next message would keep the I/O context of
 * a request, and a timer. The steps of owners that are due begin together, so their calls of one object can share a commit.
 *
 * The loop runs in the context of the request that started it, and the runtime may end that context. So after `LOST_AFTER_MS` the next
 * message starts another one, which goes on with all owners.
 */
import { type Flushes, type FlushServices, type FlushWork, LOST_AFTER_MS, retryAfter } from "./flush-loop.ts";

interface Entry {
	work: FlushWork;
	/** When the next step begins; while one is under way, when that is considered lost. */
	dueAt: number;
	/** Consecutive failures. */
	tries: number;
}

export class FlushSchedule {
	readonly #services: FlushServices;
	readonly #gridMs: number;
	readonly #entries = new Set<Entry>();
	#loop: { startedAt: number } | undefined;

	/** Steps begin at multiples of `gridMs`. */
	constructor(services: FlushServices, gridMs: number) {
		this.#services = services;
		this.#gridMs = gridMs;
	}

	flushesOf(work: FlushWork): Flushes {
		const schedule = this;
		let entry: Entry | undefined;
		const stop = (): void => {
			if (entry) this.#entries.delete(entry);
		};
		return {
			get isRunning() {
				return entry !== undefined && schedule.#entries.has(entry) && schedule.#isRunning;
			},
			start: (wait) => {
				stop();
				entry = { work, dueAt: this.#services.now() + wait, tries: 0 };
				this.#entries.add(entry);
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
		while (this.#entries.size > 0) {
			const now = this.#services.now();
			await this.#services.wait((Math.floor(now / this.#gridMs) + 1) * this.#gridMs - now);
			if (this.#loop !== loop) return;
			const steps: Promise<void>[] = [];
			const until = this.#services.now();
			for (const entry of this.#entries) if (entry.dueAt <= until) steps.push(this.#step(entry));
			// The steps of the next time do not wait for those of this one: a call may hang.
			this.#services.waitUntil(Promise.all(steps));
		}
		if (this.#loop === loop) this.#loop = undefined;
	}

	/** Never rejects. */
	async #step(entry: Entry): Promise<void> {
		const { now } = this.#services;
		entry.dueAt = now() + LOST_AFTER_MS;
		let wait: number | undefined;
		try {
			wait = await entry.work.step();
			entry.tries = 0;
		} catch (cause) {
			wait = retryAfter(++entry.tries);
			if (wait === undefined) entry.work.onGiveUp(cause);
		}
		if (wait !== undefined) entry.dueAt = now() + wait;
		else if (this.#entries.delete(entry)) entry.work.onEnd();
	}
}
