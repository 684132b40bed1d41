/**
 * Shares the time of a runtime that is behind between its callers. The runtime has one thread, so a caller who sends work without a pause
 * delays all others. While its answers to probes are late, work begins at a rate that it can follow, and in the order of what each caller has
 * used: one who uses less than the others does not wait. While it is not behind, nothing waits.
 *
 * What work costs is not known before. A unit is about the cost of a small request; the rate follows from the probes. This is start-time
 * fair queueing: a caller's *tag* is what it has used, and the *turn* is the tag up to which all callers have been served.
 */
import { BEHIND_MS } from "../../src/core/runtime-delay.ts";
import type { CountReport } from "../../src/core/shared-count.ts";

/** The class of the metrics. */
const PACED = "paced_requests";
/** The factor of the rate for each `BEHIND_MS` that the answer to a probe is late, and the least factor of a probe. */
const SLOWER = 0.85;
const SLOWEST = 0.5;
/** The factor of the rate after a probe that was answered in time. */
const FASTER = 1.1;
/** Units a second of all callers and guards, at least: other processes of the machine may delay the runtime, whatever its callers do. */
const MIN_RATE = 300;
/** The rate stays near what callers use, so that it is soon low enough when they use more. */
const MAX_SPARE = 4;
/**
 * Units that a caller may use before its turn: some requests. One who uses less than its part still sends two or three close together, and would
 * wait for its turn, which is slow while many others use all of theirs.
 */
const SLACK_UNITS = 10;
/** Units that may be used at once after a pause, as time at the present rate. */
const BURST_MS = 50;
/** After so many probes in time without waiting work, nothing is counted. */
const PROBES_IN_TIME = 20;
/** Between two looks at the waiting work. */
const TICK_MS = 10;
/** Beyond it, all callers begin anew. */
const MAX_CALLERS = 10_000;

/** The caller of a connection. */
export interface PacedCaller {
	/** The address, for a credential that works with the credential. */
	key: string;
	/** Its part of the time, compared with others. */
	weight: number;
}

const slower = (rate: number, lateMs: number): number =>
	rate * Math.max(SLOWEST, SLOWER ** (lateMs / BEHIND_MS));

interface Waiting {
	caller: PacedCaller;
	/** Oldest first. */
	starts: Set<() => void>;
}

export class Pace {
	readonly #now: () => number;
	readonly #minRate: number;
	/** Units a second. `undefined`: the runtime is not behind. */
	#rate: number | undefined;
	/** Units that may begin now. Negative: they were used before. */
	#free = 0;
	#freeAt = 0;
	#turn = 0;
	readonly #tags = new Map<string, number>();
	readonly #waiting = new Map<string, Waiting>();
	#timer: NodeJS.Timeout | undefined;
	/** Units since the last probe. */
	#used = 0;
	#probedAt: number;
	#probesInTime = 0;
	/** When the probe without an answer was sent. */
	#sentAt: number | undefined;
	/** Of the last answer to a probe. */
	#lateMs = 0;
	/** Since the start. */
	#refused = 0;

	/** `guardCount`: how many guards send requests to this runtime. Each has a pace of its own for it. */
	constructor(now: () => number, { guardCount = 1 }: { guardCount?: number | undefined } = {}) {
		this.#now = now;
		this.#minRate = MIN_RATE / guardCount;
		this.#probedAt = now();
	}

	get isBehind(): boolean {
		return this.#rate !== undefined;
	}

	/** How late the runtime is: the answer to the last probe, or to the one that has no answer yet. Milliseconds. */
	get lateMs(): number {
		return Math.max(this.#lateMs, this.#sentAt === undefined ? 0 : this.#now() - this.#sentAt);
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

	/** `limit`: connections, because each has at most one request that waits. `paces`: of the workers of a guard. */
	static report(paces: readonly Pace[], limit: number): CountReport {
		const sum = (of: (pace: Pace) => number): number => paces.reduce((total, pace) => total + of(pace), 0);
		return { name: PACED, used: sum(({ waiting }) => waiting), limit, refused: sum((pace) => pace.#refused) };
	}

	/** A probe is sent. */
	probe(): void {
		this.#sentAt = this.#now();
	}

	/** The runtime has answered a probe after so many milliseconds. */
	probed(lateMs: number): void {
		const at = this.#now();
		this.#sentAt = undefined;
		this.#lateMs = lateMs;
		const rate = (1_000 * this.#used) / Math.max(1, at - this.#probedAt);
		this.#used = 0;
		this.#probedAt = at;
		const isBehind = lateMs > BEHIND_MS;
		this.#probesInTime = isBehind || this.#waiting.size > 0 ? 0 : this.#probesInTime + 1;
		if (this.#rate === undefined) {
			if (isBehind) this.#begin(Math.max(this.#minRate, slower(rate, lateMs)));
			return;
		}
		if (this.#probesInTime >= PROBES_IN_TIME) {
			this.end();
			return;
		}
		this.#refill();
		const changed = isBehind ? slower(this.#rate, lateMs) : Math.min(FASTER * this.#rate, MAX_SPARE * rate);
		this.#rate = Math.max(this.#minRate, changed);
		this.#drain();
	}

	/** The caller uses the runtime. */
	use({ key, weight }: PacedCaller, units: number): void {
		this.#used += units;
		if (this.#rate === undefined) return;
		this.#free -= units;
		if (this.#tags.size >= MAX_CALLERS && !this.#tags.has(key)) this.#tags.clear();
		this.#tags.set(key, this.#tagOf(key) + units / weight);
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
		this.#sentAt = undefined;
		this.#lateMs = 0;
		this.#tags.clear();
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
