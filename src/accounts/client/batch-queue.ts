/**
 * Batches this isolate's calls of one object: the admissions of an account, or the calls for several accounts of a shard.
 *
 * A call costs more than the work that it does, and the object answers only when its writes are on the disk. So while a call is
 * under way, later requests wait and share the next call. A request that finds no call under way never waits. If many wait at the
 * end of a call, the next one starts after a pause, and has those too that arrive meanwhile.
 *
 * The request that has waited longest makes the next call, in its own I/O context, and resolves the others. The runtime may
 * end that context, and a call may hang, so no request waits longer than `MAX_WAIT_MS` to be part of a call.
 */
import { hasPassed } from "../../core/elapsed.ts";
import { LOST_AFTER_MS } from "../../core/flush-schedule.ts";
import { settledElsewhere } from "../../core/settled-elsewhere.ts";

/** Many times the duration of a call. */
const MAX_WAIT_MS = 100;
/** As many that wait at the end of a call mean load. With fewer, a pause makes each wait longer and saves no call. */
const MANY_WAITING = 8;
/** The pause between two calls under load, as a multiple of the time that the first one took. */
const PAUSE_FACTOR = 3;
const MAX_PAUSE_MS = 10;
/** Items in one call, so that it does not block the object for long. */
const MAX_BATCH = 100;

interface BatchQueueServices {
	now(): number;
	wait(milliseconds: number): Promise<void>;
	/** Keeps the context of the current request alive. */
	waitUntil(promise: Promise<unknown>): void;
}

/** One call of the object. Returns one answer for each item, in order. */
type CallAll<Item, Answer> = (items: readonly Item[]) => Promise<readonly Answer[]>;

type CallOutcome<Answer> = { answer: Answer } | { error: unknown };

interface QueuedItem<Item, Answer> {
	item: Item;
	isAnswered: boolean;
	/** Resolves with the answer, or with the time until this request must make the next call. */
	result: PromiseWithResolvers<{ answer: Answer } | { callInMs: number }>;
}

export class BatchQueue<Item, Answer> {
	readonly #services: BatchQueueServices;
	/** Items that are not part of a call, oldest first. */
	readonly #waiting: QueuedItem<Item, Answer>[] = [];
	/** The latest call that is under way, or about to be. */
	#current: { since: number } | undefined;

	constructor(services: BatchQueueServices) {
		this.#services = services;
	}

	/** No item waits, and no call is under way. */
	get isIdle(): boolean {
		return this.#current === undefined && this.#waiting.length === 0;
	}

	/** Rejects if the call that contains this item fails. */
	async add(item: Item, callAll: CallAll<Item, Answer>): Promise<Answer> {
		const queued: QueuedItem<Item, Answer> = { item, isAnswered: false, result: settledElsewhere() };
		// An older call may be lost: the request that made it may have ended.
		if (!hasPassed(MAX_WAIT_MS, this.#current?.since, this.#services.now())) this.#wait(queued);
		else this.#call(queued, callAll);
		for (;;) {
			const result = await queued.result.promise;
			if ("answer" in result) return result.answer;
			queued.result = settledElsewhere();
			if (result.callInMs > 0) await this.#services.wait(result.callInMs);
			this.#call(queued, callAll);
		}
	}

	/**
	 * Makes a call after `MAX_WAIT_MS`, if no other call contains the item. The runtime also needs the timer: it ends a
	 * request that waits for another request without one, because it seems to hang. The timer is not stopped when the answer
	 * arrives, because stopping it costs more than letting it run out.
	 */
	async #wait(queued: QueuedItem<Item, Answer>): Promise<void> {
		this.#waiting.push(queued);
		// It may have to make the next call for the others.
		this.#services.waitUntil(queued.result.promise.catch(() => {}));
		await this.#services.wait(MAX_WAIT_MS);
		if (queued.isAnswered) return;
		const position = this.#waiting.indexOf(queued);
		if (position >= 0) {
			this.#waiting.splice(position, 1);
			queued.result.resolve({ callInMs: 0 });
			return;
		}
		await this.#services.wait(LOST_AFTER_MS);
		settle(queued, { error: new Error("The call that contained this message was lost") });
	}

	/** Never rejects: each item of the call gets the failure. */
	async #call(queued: QueuedItem<Item, Answer>, callAll: CallAll<Item, Answer>): Promise<void> {
		const call = { since: this.#services.now() };
		this.#current = call;
		const batch = [queued, ...this.#waiting.splice(0, MAX_BATCH - 1)];
		try {
			const calling = callAll(batch.map(({ item }) => item));
			// The caller of this request may disconnect while the others still need the call.
			if (batch.length > 1) this.#services.waitUntil(calling.catch(() => {}));
			const answers = await calling;
			for (const [i, each] of batch.entries()) {
				if (i in answers) settle(each, { answer: answers[i] as Answer });
				else settle(each, { error: new TypeError("A message got no answer") });
			}
		} catch (error) {
			for (const each of batch) settle(each, { error });
		}
		// A later call did not wait for this one, and starts the next one itself.
		if (this.#current !== call) return;
		// The request that has waited longest makes the next call.
		const now = this.#services.now();
		const callInMs =
			this.#waiting.length >= MANY_WAITING ? Math.min(PAUSE_FACTOR * (now - call.since), MAX_PAUSE_MS) : 0;
		const next = this.#waiting.shift();
		this.#current = next && { since: now };
		next?.result.resolve({ callInMs });
	}
}

/** The first outcome counts: a call that was considered lost may still answer. */
function settle<Item, Answer>(queued: QueuedItem<Item, Answer>, outcome: CallOutcome<Answer>): void {
	queued.isAnswered = true;
	if ("answer" in outcome) queued.result.resolve(outcome);
	else queued.result.reject(outcome.error);
}
