/**
 * Shares the time of a runtime that is behind between its callers. The runtime has one thread, so a caller who sends work without a pause
 * delays all others. While its answers to probes are late, work begins at a rate that it can follow, and in the order of what each caller has
 * used: one who uses less than the others does not wait. While it is not behind, nothing waits.
 *
 * What work costs is not known before. A unit is about the cost of a small request; the rate follows from the probes. Work that does not pass
 * here, such as calls of objects, is charged to the callers of its account when the runtime has reported it. What requests of a caller have cost is
 * expected of the next one, so that costly requests of many callers do not begin together. This is start-time
 * fair queueing: a caller's *tag* is what it has used, and the *turn* is the tag up to which all callers have been served.
 */

import { BEHIND_MS } from "../../src/core/runtime-delay.ts";
import type { CountReport } from "../../src/core/shared-count.ts";

/** The class of the metrics. */
const PACED = "paced_requests";
/** After each probe the rate changes by these factors. */
const SLOWER = 0.85;
const FASTER = 1.1;
/** The rate grows after an answer within this time. Between it and {@link BEHIND_MS} it stays: a request passes the thread several times. */
const IN_TIME_MS = 5;
/** Units a second of all callers, at least: other processes of the machine may delay the runtime, whatever its callers do. */
const MIN_RATE = 500;
/** The rate stays near what callers use, so that it is soon low enough when they use more. */
const MAX_SPARE = 4;
/** Units that a caller may use before its turn. */
const SLACK_UNITS = 3;
/** Units that may be used at once after a pause, as time at the present rate. */
const BURST_MS = 20;
/** After so many probes in time without waiting work, nothing is counted. */
const PROBES_IN_TIME = 20;
/** Between two looks at the waiting work. */
const TICK_MS = 10;
/** The weight of the latest report in what is expected of a request. */
const LATEST_SHARE = 0.3;
/** Beyond it, all callers begin anew. */
const MAX_CALLERS = 10_000;

/** The caller of a connection. */
export interface PacedCaller {
	/** The address, for a credential that works with the credential. */
	key: string;
	/** Its part of the time, compared with others. */
	weight: number;
	/** Of an accepted token. */
	account?: string;
}

/** Of a caller, since the work of its account was charged. */
interface CallerUse {
	units: number;
	requests: number;
	/** Units that were charged because they were expected. */
	expected: number;
}

/** What the callers of an account have used since its work was charged. */
interface AccountUse {
	units: number;
	callers: Map<PacedCaller, CallerUse>;
	isCharged: boolean;
}

interface Waiting {
	caller: PacedCaller;
	/** Oldest first. */
	starts: Set<() => void>;
}

export class Pace {
	readonly #now: () => number;
	/** Units a second. `undefined`: the runtime is not behind. */
	#rate: number | undefined;
	/** Units that may begin now. Negative: they were used before. */
	#free = 0;
	#freeAt = 0;
	#turn = 0;
	readonly #tags = new Map<string, number>();
	readonly #accounts = new Map<string, AccountUse>();
	/** Units of a request that the runtime will report, by caller. */
	readonly #expected = new Map<string, number>();
	readonly #waiting = new Map<string, Waiting>();
	#timer: NodeJS.Timeout | undefined;
	/** Units since the last probe. */
	#used = 0;
	#probedAt: number;
	#probesInTime = 0;
	/** Since the start. */
	#refused = 0;

	constructor(now: () => number) {
		this.#now = now;
		this.#probedAt = now();
	}

	get isBehind(): boolean {
		return this.#rate !== undefined;
	}

	/** Work that waits. */
	get waiting(): number {
		let count = 0;
		for (const { starts } of this.#waiting.values()) count += starts.size;
		return count;
	}

	/** Work was refused because it has waited too long. */
	refuse(): void {
		this.#refused++;
	}

	/** `limit`: connections, because each has at most one request that waits. */
	report(limit: number): CountReport {
		return { name: PACED, used: this.waiting, limit, refused: this.#refused };
	}

	/** The runtime has answered a probe after so many milliseconds. */
	probed(lateMs: number): void {
		const at = this.#now();
		const rate = (1_000 * this.#used) / Math.max(1, at - this.#probedAt);
		this.#used = 0;
		this.#probedAt = at;
		const isBehind = lateMs > BEHIND_MS;
		this.#probesInTime = isBehind || this.#waiting.size > 0 ? 0 : this.#probesInTime + 1;
		if (this.#rate === undefined) {
			if (isBehind) this.#begin(Math.max(MIN_RATE, SLOWER * rate));
			return;
		}
		if (this.#probesInTime >= PROBES_IN_TIME) {
			this.end();
			return;
		}
		this.#refill();
		if (isBehind) this.#rate *= SLOWER;
		else if (lateMs <= IN_TIME_MS) this.#rate = Math.min(FASTER * this.#rate, MAX_SPARE * rate);
		this.#rate = Math.max(MIN_RATE, this.#rate);
		this.#drain();
	}

	/** A request of the caller begins. */
	begin(caller: PacedCaller): void {
		this.use(caller, 1);
		if (this.#rate === undefined || caller.account === undefined) return;
		const expected = this.#expected.get(caller.key) ?? 0;
		const own = this.#useOf(caller.account, caller);
		own.requests++;
		own.expected += expected;
		this.#take(caller, expected);
	}

	/** The caller uses the runtime. */
	use(caller: PacedCaller, units: number): void {
		this.#used += units;
		if (this.#rate === undefined) return;
		this.#take(caller, units);
		if (caller.account === undefined) return;
		const own = this.#useOf(caller.account, caller);
		own.units += units;
		const all = this.#accounts.get(caller.account);
		if (all) all.units += units;
	}

	/**
	 * Work of the account that the runtime has reported. Its callers are charged in proportion to what they have used since the report before,
	 * or in the time before that: work may go on when its request has ended.
	 */
	charge(account: string, units: number): void {
		this.#used += units;
		if (this.#rate === undefined) return;
		const use = this.#accounts.get(account);
		if (!use) {
			this.#free -= units;
			return;
		}
		use.isCharged = true;
		for (const [caller, own] of use.callers) {
			const cost = (units * own.units) / use.units;
			this.#take(caller, cost - own.expected);
			own.expected = 0;
			if (own.requests === 0) continue;
			const before = this.#expected.get(caller.key) ?? 0;
			this.#expected.set(caller.key, before + LATEST_SHARE * (cost / own.requests - before));
			own.requests = 0;
		}
	}

	#take({ key, weight }: PacedCaller, units: number): void {
		this.#free -= units;
		if (this.#tags.size >= MAX_CALLERS && !this.#tags.has(key)) {
			this.#tags.clear();
			this.#accounts.clear();
			this.#expected.clear();
		}
		this.#tags.set(key, this.#tagOf(key) + units / weight);
	}

	#useOf(account: string, caller: PacedCaller): CallerUse {
		let use = this.#accounts.get(account);
		if (!use || use.isCharged) {
			use = { units: 0, callers: new Map(), isCharged: false };
			this.#accounts.set(account, use);
		}
		const own = use.callers.get(caller) ?? { units: 0, requests: 0, expected: 0 };
		use.callers.set(caller, own);
		return own;
	}

	/** Whether work of the caller may begin now. */
	mayBegin({ key }: PacedCaller): boolean {
		if (this.#rate === undefined) return true;
		this.#refill();
		// Work of the same caller keeps its order.
		if (this.#waiting.has(key)) return false;
		return this.#tagOf(key) <= this.#turn + SLACK_UNITS || (this.#free > 0 && this.#waiting.size === 0);
	}

	/** Calls `start` when work of the caller may begin. Returns a function that ends the wait. */
	wait(caller: PacedCaller, start: () => void): () => void {
		const { key } = caller;
		const waiting = this.#waiting.get(key) ?? { caller, starts: new Set() };
		this.#waiting.set(key, waiting);
		waiting.starts.add(start);
		this.#timer ??= setInterval(() => this.#drain(), TICK_MS).unref();
		return () => {
			if (waiting.starts.delete(start) && waiting.starts.size === 0) this.#waiting.delete(key);
		};
	}

	/** The runtime is not behind, or has no work. */
	end(): void {
		this.#rate = undefined;
		this.#tags.clear();
		this.#accounts.clear();
		this.#expected.clear();
		clearInterval(this.#timer);
		this.#timer = undefined;
		const all = [...this.#waiting.values()];
		this.#waiting.clear();
		for (const { starts } of all) for (const start of starts) start();
	}

	#begin(rate: number): void {
		this.#rate = rate;
		this.#probesInTime = 0;
		this.#free = 0;
		this.#freeAt = this.#now();
		this.#turn = 0;
	}

	#tagOf(key: string): number {
		return Math.max(this.#turn, this.#tags.get(key) ?? this.#turn);
	}

	#refill(): void {
		const at = this.#now();
		const rate = this.#rate ?? 0;
		const most = Math.max(1, (rate * BURST_MS) / 1_000);
		this.#free = Math.min(most, this.#free + (rate * (at - this.#freeAt)) / 1_000);
		this.#freeAt = at;
	}

	/** Starts waiting work, that of the callers who have used the least first. */
	#drain(): void {
		this.#refill();
		while (this.#free > 0) {
			const next = this.#next();
			if (!next) break;
			const { caller, starts } = next;
			const [start] = starts;
			if (start) starts.delete(start);
			if (starts.size === 0) this.#waiting.delete(caller.key);
			this.#turn = this.#tagOf(caller.key);
			start?.();
		}
		if (this.#waiting.size > 0) return;
		clearInterval(this.#timer);
		this.#timer = undefined;
	}

	#next(): Waiting | undefined {
		let next: Waiting | undefined;
		let least = Number.POSITIVE_INFINITY;
		for (const waiting of this.#waiting.values()) {
			const tag = this.#tagOf(waiting.caller.key);
			if (tag >= least) continue;
			least = tag;
			next = waiting;
		}
		return next;
	}
}
