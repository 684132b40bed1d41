/**
 * Places that accounts share, such as those of the requests under way, and the line of those who wait for one.
 *
 * A tenth of the places is for accounts that have none. A place that becomes free goes to the account that has had the least time of places lately
 * ({@link FairQueue}), and there to the turn that has waited longest. A place that is held counts as a second. So an account whose calls hang is
 * behind one whose calls end at once. A turn waits for up to two seconds: after a pause of the process, or a burst, many begin at once and end soon.
 */
import { FairQueue, type Queued } from "./fair-queue.ts";
import { FairShares } from "./fair-shares.ts";
import { settledElsewhere } from "./settled-elsewhere.ts";
import type { CountReport } from "./shared-count.ts";

const FREE_FOR_NEW_ACCOUNTS = 0.1;
/** The longest wait for a place. */
const WAIT_MS = 2_000;
/** Milliseconds that a held place counts. */
const HELD_MS = 1_000;
/** The longest time of a place that counts, because a clock may be set. */
const MAX_HELD_MS = 60_000;
/** Turns that wait at the same time. */
const MAX_WAITING = 256;

/** One who has a place, or waits for one. */
export interface Turn {
	account: string;
	/** `refused`: for too long, or by too many others. `left`: its holder has called `leave`. */
	readonly state: "waiting" | "placed" | "refused" | "left";
}

/** Resolves after the time; rejects if the signal fires first. */
export type WaitInLine = (milliseconds: number, signal: AbortSignal) => Promise<void>;

interface OwnTurn extends Turn, Queued {
	state: Turn["state"];
	placedAt?: number;
	/** Resolves when it no longer waits. Absent: it has never waited. */
	decided?: PromiseWithResolvers<void>;
}

export class FairLine {
	readonly #name: string;
	readonly #now: () => number;
	readonly #shares: FairShares;
	/** The counters are milliseconds of places. */
	readonly #waiting = new FairQueue<OwnTurn>();
	#refused = 0;

	/** `max` infinite: nobody waits. `name`: for the report. `now`: milliseconds. */
	constructor({ name, max, now }: { name: string; max: number; now(): number }) {
		this.#name = name;
		this.#now = now;
		this.#shares = new FairShares(max, Math.ceil(max * FREE_FOR_NEW_ACCOUNTS));
	}

	get size(): number {
		return this.#shares.size;
	}

	/** The holder of the turn calls `leave` at its end, and `placed` if the turn waits. */
	enter(account: string): Turn {
		const turn: OwnTurn = {
			...{ account, state: "waiting" },
			// It costs the time of its place, which is known at its end.
			...{ priority: "interactive", cost: 0, weight: 1, queuedAt: this.#now() },
		};
		if (this.#shares.mayTake(account) && !this.#isWaiting(account)) this.#place(turn);
		else if (this.#waiting.size < MAX_WAITING || this.#makeRoom(account)) {
			turn.decided = settledElsewhere();
			this.#waiting.push(turn);
		} else this.#refuse(turn);
		return turn;
	}

	/** Resolves when the turn no longer waits, in the context of the request that has entered the line. */
	async placed(turn: Turn, wait: WaitInLine): Promise<void> {
		const { decided } = turn as OwnTurn;
		if (!decided) return;
		const timer = new AbortController();
		await Promise.race([decided.promise, wait(WAIT_MS, timer.signal).catch(() => {})]);
		timer.abort();
		if (turn.state === "waiting") this.#refuse(turn as OwnTurn);
	}

	/** Also from another request. May be called again. */
	leave(turn: Turn): void {
		const own = turn as OwnTurn;
		const { account, placedAt = 0, state } = own;
		this.#end(own, "left");
		if (state !== "placed") return;
		this.#shares.release(account);
		this.#waiting.correct(own, Math.min(MAX_HELD_MS, Math.max(0, this.#now() - placedAt)));
		if (this.#waiting.size === 0) return;
		for (let next = this.#next(); next; next = this.#next()) {
			this.#waiting.take(next);
			this.#place(next);
		}
	}

	report(): CountReport {
		return { name: this.#name, used: this.#shares.size, limit: this.#shares.max, refused: this.#refused };
	}

	#isWaiting(account: string): boolean {
		if (this.#waiting.size === 0) return false;
		for (const other of this.#waiting.items()) if (other.account === account) return true;
		return false;
	}

	/** Refuses the latest turn of the account that has the most waiting ones. Returns false if that is this account. */
	#makeRoom(account: string): boolean {
		const counts = new Map<string, number>([[account, 1]]);
		const waiting = [...this.#waiting.items()];
		for (const other of waiting) counts.set(other.account, (counts.get(other.account) ?? 0) + 1);
		const [most = account] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
		const latest = waiting.findLast((other) => other.account === most);
		if (most === account || !latest) return false;
		this.#refuse(latest);
		return true;
	}

	/** The waiting turn that may have a place first. */
	#next(): OwnTurn | undefined {
		return this.#waiting.nextBy((account, heldMs) =>
			this.#shares.mayTake(account)
				? heldMs + HELD_MS * this.#shares.count(account)
				: Number.POSITIVE_INFINITY,
		);
	}

	#place(turn: OwnTurn): void {
		this.#shares.take(turn.account);
		turn.placedAt = this.#now();
		this.#end(turn, "placed");
	}

	#refuse(turn: OwnTurn): void {
		this.#refused++;
		this.#end(turn, "refused");
	}

	#end(turn: OwnTurn, state: Turn["state"]): void {
		if (turn.decided) this.#waiting.delete(turn);
		turn.state = state;
		turn.decided?.resolve();
	}
}
