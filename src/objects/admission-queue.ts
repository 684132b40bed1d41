/**
 * Admissions on their way from this isolate to one account's object.
 *
 * A call costs more than what it does, and the object answers only when what it admitted is on its disk; so while one is
 * under way, requests that come wait, and go together with the next. A request that finds none under way never waits.
 *
 * Whoever has waited longest makes the next call, in its own context, and tells the others. The runtime may end that
 * context, and a call may hang: so nobody waits longer than `PATIENCE_MS` to be taken along.
 */
import type { Admission, Admitted } from "./admission.ts";

/** Many times what a call takes. */
export const PATIENCE_MS = 100;
/** Of one that was taken along: the call is lost. */
export const LOST_AFTER_MS = 10_000;
/** What one call takes along, so that it does not hold the object up for long. */
export const MAX_TOGETHER = 100;

export interface QueueWorld {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the request alive that is running now. */
	waitUntil(promise: Promise<unknown>): void;
}

/** One call of the object: an answer for each, in order. */
export type AdmitAll = (admissions: readonly Admission[]) => Promise<readonly Admitted[]>;

interface Waiting {
	admission: Admission;
	/** Goes with another one's call. */
	taken: boolean;
	answered: boolean;
	/** The answer; or it is this one's turn to make the next call. */
	told: PromiseWithResolvers<Admitted | "turn">;
}

export class AdmissionQueue {
	readonly #world: QueueWorld;
	/** Not taken yet, the first to come first. */
	#waiting: Waiting[] = [];
	/** The latest call that is under way, or about to be. */
	#current: { since: number } | undefined;

	constructor(world: QueueWorld) {
		this.#world = world;
	}

	/** Nobody waits, and nothing is under way. */
	get isIdle(): boolean {
		return this.#current === undefined && this.#waiting.length === 0;
	}

	/** Rejects as the call did that took this admission along. */
	async admit(admission: Admission, admitAll: AdmitAll): Promise<Admitted> {
		const own: Waiting = { admission, taken: false, answered: false, told: Promise.withResolvers() };
		const isUnderWay = this.#current && this.#world.now() - this.#current.since < PATIENCE_MS;
		if (isUnderWay) this.#wait(own);
		else this.#call(own, admitAll);
		for (;;) {
			const told = await own.told.promise;
			if (told !== "turn") return told;
			own.told = Promise.withResolvers();
			this.#call(own, admitAll);
		}
	}

	#wait(own: Waiting): void {
		this.#waiting.push(own);
		// The others count on it, should its turn come.
		this.#world.waitUntil(own.told.promise.catch(() => {}));
		this.#loseHeart(own);
	}

	/**
	 * Its timer is also what the runtime wants to see of a request that waits for another: without one it takes it for
	 * one that hangs. It is not stopped when the answer is there: to stop it costs more than to let it run out.
	 */
	async #loseHeart(own: Waiting): Promise<void> {
		await this.#world.wait(PATIENCE_MS);
		if (!own.taken) {
			this.#waiting = this.#waiting.filter((each) => each !== own);
			own.told.resolve("turn");
		} else if (!own.answered) {
			await this.#world.wait(LOST_AFTER_MS);
			own.told.reject(new Error("The call that took this admission along was lost"));
		}
	}

	/** Never rejects: those whom it takes along are told. */
	async #call(own: Waiting, admitAll: AdmitAll): Promise<void> {
		const call = { since: this.#world.now() };
		this.#current = call;
		const all = [own, ...this.#waiting.splice(0, MAX_TOGETHER - 1)];
		for (const each of all) each.taken = true;
		try {
			const asked = admitAll(all.map(({ admission }) => admission));
			// Its caller may leave; the others have not.
			if (all.length > 1) this.#world.waitUntil(asked.catch(() => {}));
			const admitted = await asked;
			for (const [i, { told }] of all.entries()) {
				const answer = admitted[i];
				if (answer) told.resolve(answer);
				else told.reject(new TypeError("An admission got no answer"));
			}
		} catch (error) {
			for (const { told } of all) told.reject(error);
		}
		for (const each of all) each.answered = true;
		// A later call did not wait for this one, and tells those who came after it.
		if (this.#current === call) this.#next();
	}

	#next(): void {
		const next = this.#waiting.shift();
		if (next) next.taken = true;
		this.#current = next && { since: this.#world.now() };
		next?.told.resolve("turn");
	}
}
