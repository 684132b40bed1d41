/**
 * Places that accounts share, such as those of the requests under way, and the line of those who wait for one.
 *
 * A tenth of the places is for accounts that have none. A place that becomes free goes to the account that has had the least time of places lately,
 * and there to the turn that has waited longest. Only the time of turns that end while turns wait counts, ten seconds at most, and a half of it is
 * forgotten in ten seconds. A place that is held counts as a second. So an account whose calls hang is behind one whose calls end at once.
 *
 * A turn waits for up to two seconds: after a pause of the process, or a burst, many begin at once and end soon. If too many wait, the last of them
 * in this order is refused: an account with few turns and little time waits, however many others do.
 */
import { BoundedMap } from "./bounded-map.ts";
import { FairShares } from "./fair-shares.ts";
import { settledElsewhere } from "./settled-elsewhere.ts";
import type { CountReport } from "./shared-count.ts";

const FREE_FOR_NEW_ACCOUNTS = 0.1;
/** The longest wait for a place. */
const WAIT_MS = 2_000;
/** Milliseconds that a held place counts. */
const HELD_MS = 1_000;
/** The longest time of an account that counts: one that had many places for long waits as briefly as others. */
const MAX_COUNTED_MS = 10_000;
/** A half of the time that an account has had is forgotten after this time. */
const HALF_LIFE_MS = 10_000;
/** At this number the times of all are forgotten. */
const MAX_ACCOUNTS = 10_000;
/** Turns that wait at the same time. */
const MAX_WAITING = 256;

/** One who has a place, or waits for one. Only a {@link FairLine} creates and changes it. */
class Turn {
	readonly account: string;
	/** `refused`: for too long, or by too many others. `left`: its holder has called `leave`, or another one has for it. */
	state: "waiting" | "placed" | "refused" | "left" = "waiting";
	/** Since when it has a place. */
	placedAt: number | undefined;
	/** Resolves when it no longer waits. Absent: it has never waited. */
	decided: PromiseWithResolvers<void> | undefined;

	constructor(account: string) {
		this.account = account;
	}
}

export type { Turn };

/** Resolves after the time; rejects if the signal fires first. */
export type WaitInLine = (milliseconds: number, signal: AbortSignal) => Promise<void>;

export class FairLine {
	readonly #name: string;
	readonly #now: () => number;
	readonly #shares: FairShares;
	/** By account. The oldest is first. */
	readonly #waiting = new Map<string, Set<Turn>>();
	/** Turns that wait. */
	#waitingSize = 0;
	/** Time of places that each account has had lately. */
	readonly #held = new BoundedMap<string, { milliseconds: number; at: number }>(MAX_ACCOUNTS);
	#refused = 0;

	/** `max` infinite: no turn waits. `name`: for the report. `now`: milliseconds. */
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
		const turn = new Turn(account);
		if (this.#shares.mayTake(account) && !this.#waiting.has(account)) this.#place(turn);
		else if (this.#waitingSize < MAX_WAITING || this.#makeRoom(account)) this.#add(turn);
		else this.#refuse(turn);
		return turn;
	}

	/** Resolves when the turn no longer waits, in the context of the request that has entered the line. */
	async placed(turn: Turn, wait: WaitInLine): Promise<void> {
		if (!turn.decided) return;
		const timer = new AbortController();
		await Promise.race([turn.decided.promise, wait(WAIT_MS, timer.signal).catch(() => {})]);
		timer.abort();
		if (turn.state === "waiting") this.#refuse(turn);
	}

	/** Also from another request. May be called again. */
	leave(turn: Turn): void {
		const { account, placedAt = 0, state } = turn;
		this.#end(turn, "left");
		if (state !== "placed") return;
		this.#shares.release(account);
		if (this.#waitingSize === 0) return;
		const now = this.#now();
		// The clock may be set back.
		const milliseconds = this.#heldMs(account, now) + Math.max(0, now - placedAt);
		this.#held.set(account, { milliseconds: Math.min(MAX_COUNTED_MS, milliseconds), at: now });
		for (let next = this.#next(now); next; next = this.#next(now)) this.#place(next);
	}

	/** Whether the account would get a place that another one leaves. */
	isBelowPart(account: string): boolean {
		return this.#shares.isBelowPart(account);
	}

	report(): CountReport {
		return { name: this.#name, used: this.#shares.size, limit: this.#shares.max, refused: this.#refused };
	}

	/**
	 * Refuses the latest turn of the account that has the most waiting ones, and of several such accounts the one that has had the most time of
	 * places. Returns false if that is this account.
	 */
	#makeRoom(account: string): boolean {
		const now = this.#now();
		let most = (this.#waiting.get(account)?.size ?? 0) + 1;
		let longest = this.#usedMs(account, now);
		let latest: Turn | undefined;
		for (const [other, turns] of this.#waiting) {
			if (turns.size < most) continue;
			const used = this.#usedMs(other, now);
			if (turns.size === most && used <= longest) continue;
			most = turns.size;
			longest = used;
			latest = [...turns].at(-1);
		}
		if (!latest) return false;
		this.#refuse(latest);
		return true;
	}

	/** The waiting turn that may have a place first. */
	#next(now: number): Turn | undefined {
		if (this.#shares.isFull) return undefined;
		let least = Number.POSITIVE_INFINITY;
		let next: Turn | undefined;
		for (const [account, turns] of this.#waiting) {
			const key = this.#usedMs(account, now);
			if (key >= least || !this.#shares.mayTake(account)) continue;
			least = key;
			[next] = turns;
		}
		return next;
	}

	/** The account with the least is next. */
	#usedMs(account: string, now: number): number {
		return this.#heldMs(account, now) + HELD_MS * this.#shares.count(account);
	}

	#heldMs(account: string, now: number): number {
		const held = this.#held.get(account);
		if (!held) return 0;
		// The clock may be set back. How much time has passed is not known then, so the size of the step counts.
		const halvings = Math.abs(now - held.at) / HALF_LIFE_MS;
		return Math.round(held.milliseconds / 2 ** halvings);
	}

	#add(turn: Turn): void {
		turn.decided = settledElsewhere();
		const turns = this.#waiting.get(turn.account);
		if (turns) turns.add(turn);
		else this.#waiting.set(turn.account, new Set([turn]));
		this.#waitingSize++;
	}

	#place(turn: Turn): void {
		this.#shares.take(turn.account);
		turn.placedAt = this.#now();
		this.#end(turn, "placed");
	}

	#refuse(turn: Turn): void {
		this.#refused++;
		this.#end(turn, "refused");
	}

	/** It no longer waits, or it leaves its place. */
	#end(turn: Turn, state: Turn["state"]): void {
		turn.state = state;
		const turns = this.#waiting.get(turn.account);
		if (!turns?.delete(turn)) return;
		this.#waitingSize--;
		if (turns.size === 0) this.#waiting.delete(turn.account);
		turn.decided?.resolve();
	}
}
