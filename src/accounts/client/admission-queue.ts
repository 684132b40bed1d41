/**
 * Batches this isolate's admissions to one account's object.
 *
 * A call costs more than the work that it does, and the object answers only when its writes are on the disk. So while a call is
 * under way, later requests wait and share the next call. A blocking request that finds no call under way never waits. A
 * speculative request does not need the decision yet: speculative requests make a call at most every `GATHER_MS`.
 *
 * The request that has waited longest makes the next call, in its own I/O context, and resolves the others. The runtime may
 * end that context, and a call may hang, so no request waits longer than `MAX_WAIT_MS` to be part of a call.
 */
import type { Admission, Admitted } from "../admission.ts";

/** Many times the duration of a call. */
const MAX_WAIT_MS = 100;
/** A call that has not answered for so long is lost. */
export const LOST_AFTER_MS = 10_000;
/** Admissions in one call, so that it does not block the object for long. */
const MAX_BATCH = 100;
/** Shorter than the time to the first token of most engines, and long enough to fill a batch under load. */
const GATHER_MS = 10;
/** The pause after a call, as a multiple of its duration: slow calls mean load, so they become fewer. */
const PAUSE_FACTOR = 3;
/** Bounds the pause after a single slow call. */
const MAX_PAUSE_MS = 30;

export interface AdmissionQueueServices {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
}

/** One call of the object. Returns one answer for each admission, in order. */
type AdmitAll = (admissions: readonly Admission[]) => Promise<readonly Admitted[]>;

type CallOutcome = { answer: Admitted } | { error: unknown };

interface QueuedAdmission {
	admission: Admission;
	/**
	 * The request cannot continue without the answer. Another request, whose engine is at work, is resolved only by a refusal
	 * or a failure: each callback re-enters its I/O context, which costs about 20 us.
	 */
	blocking: boolean;
	/** Called when there is an outcome, in the context of the request that made the call. */
	onOutcome(): void;
	/** The admission is part of a call, or is about to make its own. */
	taken: boolean;
	outcome?: CallOutcome;
	/** Resolves with the answer, or with `call` if this request must make the next call. */
	result: PromiseWithResolvers<Admitted | "call">;
}

export class AdmissionQueue {
	readonly #services: AdmissionQueueServices;
	/** Admissions that are not taken yet, oldest first. */
	#waiting: QueuedAdmission[] = [];
	/** The latest call that is under way, or about to be. */
	#current: { since: number } | undefined;
	/** A speculative request waits for others, and will then make a call. */
	#gathering: { since: number } | undefined;
	/** Speculative requests make no call before this time. */
	#gatherUntil = Number.NEGATIVE_INFINITY;

	constructor(services: AdmissionQueueServices) {
		this.#services = services;
	}

	/** No admission waits, and no call is under way. */
	get isIdle(): boolean {
		return this.#current === undefined && this.#waiting.length === 0;
	}

	/** Rejects if the call that contains this admission fails. */
	admit(admission: Admission, admitAll: AdmitAll): Promise<Admitted> {
		const queued = queuedAdmission(admission, { blocking: true });
		if (this.#isRecent(this.#current)) {
			this.#enqueue(queued);
			this.#stopWaiting(queued);
		} else this.#call(queued, admitAll);
		return this.#answerOf(queued, admitAll);
	}

	/**
	 * As {@link admit}, for a speculative request. `requireDecision` must be called when the request cannot continue without the
	 * answer; an admission may resolve only then. `onOutcome` is called as soon as there is an answer or a failure.
	 */
	admitSpeculatively(
		admission: Admission,
		admitAll: AdmitAll,
		onOutcome: () => void,
	): { answer: Promise<Admitted>; requireDecision(): void } {
		const queued = queuedAdmission(admission, { blocking: false, onOutcome });
		this.#gather(queued, admitAll);
		return {
			answer: this.#answerOf(queued, admitAll),
			requireDecision: () => {
				queued.blocking = true;
				if (queued.outcome) return resolve(queued, queued.outcome);
				if (queued.taken || this.#isRecent(this.#current)) return void this.#stopWaiting(queued);
				this.#dequeue(queued);
				this.#call(queued, admitAll);
			},
		};
	}

	async #answerOf(queued: QueuedAdmission, admitAll: AdmitAll): Promise<Admitted> {
		for (;;) {
			const answer = await queued.result.promise;
			if (answer !== "call") return answer;
			queued.result = Promise.withResolvers();
			if (queued.blocking) this.#call(queued, admitAll);
			else this.#gather(queued, admitAll);
		}
	}

	#enqueue(queued: QueuedAdmission): void {
		queued.taken = false;
		this.#waiting.push(queued);
		// It may have to make the next call for the others.
		this.#services.waitUntil(queued.result.promise.catch(() => {}));
	}

	/** Does nothing if the admission is not waiting. */
	#dequeue(queued: QueuedAdmission): void {
		this.#waiting = this.#waiting.filter((other) => other !== queued);
	}

	/**
	 * Makes a call after `MAX_WAIT_MS`, if no other call has taken the admission. The runtime also needs the timer: it ends a
	 * request that waits for another request without one, because it seems to hang. The timer is not stopped when the answer
	 * arrives, because stopping it costs more than letting it run out.
	 */
	async #stopWaiting(queued: QueuedAdmission): Promise<void> {
		await this.#services.wait(MAX_WAIT_MS);
		if (!queued.taken) {
			this.#dequeue(queued);
			queued.taken = true;
			queued.result.resolve("call");
		} else if (!queued.outcome) {
			await this.#services.wait(LOST_AFTER_MS);
			settle(queued, { error: new Error("The call that contained this admission was lost") });
		}
	}

	/** Makes the next call when it is due, unless another request makes it first. */
	async #gather(queued: QueuedAdmission, admitAll: AdmitAll): Promise<void> {
		const now = this.#services.now();
		const isUnderWay = this.#isRecent(this.#current);
		if (now >= this.#gatherUntil && !isUnderWay) return this.#call(queued, admitAll);
		this.#enqueue(queued);
		if (isUnderWay || this.#isRecent(this.#gathering)) return;
		const gathering = { since: now };
		this.#gathering = gathering;
		await this.#services.wait(this.#gatherUntil - now);
		if (this.#gathering === gathering) this.#gathering = undefined;
		// Another call has taken it, or the next one will.
		if (queued.taken || this.#isRecent(this.#current)) return;
		this.#dequeue(queued);
		this.#call(queued, admitAll);
	}

	/** Never rejects: each admission of the call gets the failure. */
	async #call(queued: QueuedAdmission, admitAll: AdmitAll): Promise<void> {
		const call = { since: this.#services.now() };
		this.#current = call;
		// The call takes the gathering request too, so later speculative requests need a new one.
		this.#gathering = undefined;
		this.#gatherUntil = call.since + GATHER_MS;
		const batch = [queued, ...this.#waiting.splice(0, MAX_BATCH - 1)];
		for (const each of batch) each.taken = true;
		try {
			const admitting = admitAll(batch.map(({ admission }) => admission));
			// The caller of this request may disconnect while the others still need the call.
			if (batch.length > 1) this.#services.waitUntil(admitting.catch(() => {}));
			const answers = await admitting;
			for (const [i, each] of batch.entries()) {
				const answer = answers[i];
				settle(each, answer ? { answer } : { error: new TypeError("An admission got no answer") });
			}
		} catch (error) {
			for (const each of batch) settle(each, { error });
		}
		const now = this.#services.now();
		const pauseUntil = now + Math.min(PAUSE_FACTOR * (now - call.since), MAX_PAUSE_MS);
		this.#gatherUntil = Math.max(this.#gatherUntil, pauseUntil);
		// A later call did not wait for this one, and starts the next one itself.
		if (this.#current === call) this.#next();
	}

	/** Lets a waiting request make the next call. Prefers a blocking one. */
	#next(): void {
		const next = this.#waiting.find(({ blocking }) => blocking) ?? this.#waiting[0];
		this.#current = next?.blocking ? { since: this.#services.now() } : undefined;
		if (!next) return;
		this.#dequeue(next);
		next.taken = true;
		next.result.resolve("call");
	}

	/** An older one may be lost: the request that made it may have ended. */
	#isRecent(started: { since: number } | undefined): boolean {
		return started !== undefined && this.#services.now() - started.since < MAX_WAIT_MS;
	}
}

const queuedAdmission = (
	admission: Admission,
	{ blocking, onOutcome = () => {} }: { blocking: boolean; onOutcome?: () => void },
): QueuedAdmission => ({
	admission,
	blocking,
	onOutcome,
	taken: false,
	result: Promise.withResolvers(),
});

/** The first outcome counts: a call that was considered lost may still answer. */
function settle(queued: QueuedAdmission, outcome: CallOutcome): void {
	if (queued.outcome) return;
	queued.outcome = outcome;
	queued.onOutcome();
	if (queued.blocking || "error" in outcome || !outcome.answer.ok) resolve(queued, outcome);
}

function resolve({ result }: QueuedAdmission, outcome: CallOutcome): void {
	if ("answer" in outcome) result.resolve(outcome.answer);
	else result.reject(outcome.error);
}
