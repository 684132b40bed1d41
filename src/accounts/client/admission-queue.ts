/**
 * Admissions on their way from this isolate to one account's object.
 *
 * A call costs more than what it does, and the object answers only when what it admitted is on its disk; so while one is
 * under way, requests that come wait, and go together with the next. A request that finds none under way never waits,
 * unless it has gone ahead to its engine meanwhile and does not need the answer yet: those make a call at most every
 * `GATHER_MS`.
 *
 * Whoever has waited longest makes the next call, in its own context, and tells the others. The runtime may end that
 * context, and a call may hang: so nobody waits longer than `PATIENCE_MS` to be taken along.
 */
import type { Admission, Admitted } from "../admission.ts";

/** Many times what a call takes. */
const PATIENCE_MS = 100;
/** Of one that was taken along: the call is lost. */
export const LOST_AFTER_MS = 10_000;
/** What one call takes along, so that it does not hold the object up for long. */
const MAX_TOGETHER = 100;
/** Less than most engines take for their first word, and enough for company where there is much to do. */
const GATHER_MS = 10;
/** After a call, as many times what it took: where calls are slow, because there is much to do, they are fewer. */
const REST = 3;
/** One slow call is no reason for a long rest. */
const MAX_REST_MS = 30;

export interface QueueWorld {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the request alive that is running now. */
	waitUntil(promise: Promise<unknown>): void;
}

/** One call of the object: an answer for each, in order. */
export type AdmitAll = (admissions: readonly Admission[]) => Promise<readonly Admitted[]>;

type Outcome = { answer: Admitted } | { error: unknown };

interface Waiting {
	admission: Admission;
	/**
	 * Can do nothing without the answer. Another, whose engine is at work, can wait for company, and is told only of what is
	 * no yes: each word costs an entry into its context.
	 */
	needy: boolean;
	/** There is an outcome. Called by whoever has it, in that one's context. */
	heard(): void;
	/** Goes with another one's call, or makes its own. */
	taken: boolean;
	outcome?: Outcome;
	/** The answer; or it is this one's turn to make the next call. */
	told: PromiseWithResolvers<Admitted | "turn">;
}

export class AdmissionQueue {
	readonly #world: QueueWorld;
	/** Not taken yet, the first to come first. */
	#waiting: Waiting[] = [];
	/** The latest call that is under way, or about to be. */
	#current: { since: number } | undefined;
	/** Somebody waits for company, and will then make a call. */
	#gathering: { since: number } | undefined;
	/** Those who have gone ahead make no call before. */
	#gatherUntil = Number.NEGATIVE_INFINITY;

	constructor(world: QueueWorld) {
		this.#world = world;
	}

	/** Nobody waits, and nothing is under way. */
	get isIdle(): boolean {
		return this.#current === undefined && this.#waiting.length === 0;
	}

	/** Rejects as the call did that took this admission along. */
	admit(admission: Admission, admitAll: AdmitAll): Promise<Admitted> {
		const own = waiting(admission, { needy: true });
		if (this.#isRecent(this.#current)) {
			this.#wait(own);
			this.#loseHeart(own);
		} else this.#call(own, admitAll);
		return this.#answerOf(own, admitAll);
	}

	/**
	 * As {@link admit}, of a request that goes ahead. `needed` must be called when it can do nothing more without the
	 * answer; a yes may come only then. `heard` is called as soon as there is an answer or a failure.
	 */
	admitAhead(
		admission: Admission,
		admitAll: AdmitAll,
		heard: () => void,
	): { answer: Promise<Admitted>; needed(): void } {
		const own = waiting(admission, { needy: false, heard });
		this.#gather(own, admitAll);
		return {
			answer: this.#answerOf(own, admitAll),
			needed: () => {
				own.needy = true;
				if (own.outcome) return tell(own, own.outcome);
				if (own.taken || this.#isRecent(this.#current)) return void this.#loseHeart(own);
				this.#leave(own);
				this.#call(own, admitAll);
			},
		};
	}

	async #answerOf(own: Waiting, admitAll: AdmitAll): Promise<Admitted> {
		for (;;) {
			const told = await own.told.promise;
			if (told !== "turn") return told;
			own.told = Promise.withResolvers();
			if (own.needy) this.#call(own, admitAll);
			else this.#gather(own, admitAll);
		}
	}

	#wait(own: Waiting): void {
		own.taken = false;
		this.#waiting.push(own);
		// The others count on it, should its turn come.
		this.#world.waitUntil(own.told.promise.catch(() => {}));
	}

	/** Its place among those who wait; it may have none. */
	#leave(own: Waiting): void {
		this.#waiting = this.#waiting.filter((each) => each !== own);
	}

	/**
	 * Its timer is also what the runtime wants to see of a request that waits for another: without one it takes it for
	 * one that hangs. It is not stopped when the answer is there: to stop it costs more than to let it run out.
	 */
	async #loseHeart(own: Waiting): Promise<void> {
		await this.#world.wait(PATIENCE_MS);
		if (!own.taken) {
			this.#leave(own);
			own.taken = true;
			own.told.resolve("turn");
		} else if (!own.outcome) {
			await this.#world.wait(LOST_AFTER_MS);
			settle(own, { error: new Error("The call that took this admission along was lost") });
		}
	}

	/** Makes the next call when it is time, unless another has come first. */
	async #gather(own: Waiting, admitAll: AdmitAll): Promise<void> {
		const now = this.#world.now();
		const isUnderWay = this.#isRecent(this.#current);
		if (now >= this.#gatherUntil && !isUnderWay) return this.#call(own, admitAll);
		this.#wait(own);
		if (isUnderWay || this.#isRecent(this.#gathering)) return;
		const gathering = { since: now };
		this.#gathering = gathering;
		await this.#world.wait(this.#gatherUntil - now);
		if (this.#gathering === gathering) this.#gathering = undefined;
		// Another has taken it along, or will.
		if (own.taken || this.#isRecent(this.#current)) return;
		this.#leave(own);
		this.#call(own, admitAll);
	}

	/** Never rejects: those whom it takes along are told. */
	async #call(own: Waiting, admitAll: AdmitAll): Promise<void> {
		const call = { since: this.#world.now() };
		this.#current = call;
		// It takes along whoever gathers, and those who come later need another to wake them.
		this.#gathering = undefined;
		this.#gatherUntil = call.since + GATHER_MS;
		const all = [own, ...this.#waiting.splice(0, MAX_TOGETHER - 1)];
		for (const each of all) each.taken = true;
		try {
			const asked = admitAll(all.map(({ admission }) => admission));
			// Its caller may leave; the others have not.
			if (all.length > 1) this.#world.waitUntil(asked.catch(() => {}));
			const admitted = await asked;
			for (const [i, each] of all.entries()) {
				const answer = admitted[i];
				settle(each, answer ? { answer } : { error: new TypeError("An admission got no answer") });
			}
		} catch (error) {
			for (const each of all) settle(each, { error });
		}
		const now = this.#world.now();
		const restUntil = now + Math.min(REST * (now - call.since), MAX_REST_MS);
		this.#gatherUntil = Math.max(this.#gatherUntil, restUntil);
		// A later call did not wait for this one, and tells those who came after it.
		if (this.#current === call) this.#next();
	}

	/** Hands the turn to who needs the answer, or else to who has gone ahead. */
	#next(): void {
		const next = this.#waiting.find(({ needy }) => needy) ?? this.#waiting[0];
		this.#current = next?.needy ? { since: this.#world.now() } : undefined;
		if (!next) return;
		this.#leave(next);
		next.taken = true;
		next.told.resolve("turn");
	}

	/** One so old may be dead: its request may be over. */
	#isRecent(since: { since: number } | undefined): boolean {
		return since !== undefined && this.#world.now() - since.since < PATIENCE_MS;
	}
}

const waiting = (
	admission: Admission,
	{ needy, heard = () => {} }: { needy: boolean; heard?: () => void },
): Waiting => ({
	admission,
	needy,
	heard,
	taken: false,
	told: Promise.withResolvers(),
});

/** The first outcome counts: a call that was given up may still come back. */
function settle(own: Waiting, outcome: Outcome): void {
	if (own.outcome) return;
	own.outcome = outcome;
	own.heard();
	if (own.needy || "error" in outcome || !outcome.answer.ok) tell(own, outcome);
}

function tell({ told }: Waiting, outcome: Outcome): void {
	if ("answer" in outcome) told.resolve(outcome.answer);
	else told.reject(outcome.error);
}
