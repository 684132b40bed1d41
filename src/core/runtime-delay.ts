/**
 * Whether the runtime is behind: its thread answers small requests late. The connection guard, another process, measures this with probes, one after
 * the other. Without a guard the runtime is never known to be behind.
 */
import { hasPassed } from "./elapsed.ts";

/** Later answers to a probe: the runtime is behind. Milliseconds. */
export const BEHIND_MS = 15;
/** Of the query of a probe: how late the answer to the probe before was, milliseconds. */
export const LATE_PARAMETER = "late";
/** An older report says nothing: the probes end when no request is under way. */
const FRESH_MS = 5_000;
const MAX_PAUSE_MS = 500;

export class RuntimeDelay {
	readonly #now: () => number;
	#lateMs = 0;
	#at = Number.NEGATIVE_INFINITY;

	/** `now`: epoch milliseconds. */
	constructor(now: () => number) {
		this.#now = now;
	}

	/** A probe was answered after so many milliseconds. */
	set(lateMs: number): void {
		this.#lateMs = lateMs;
		this.#at = this.#now();
	}

	get isBehind(): boolean {
		return this.#lateMs > BEHIND_MS && !hasPassed(FRESH_MS, this.#at, this.#now());
	}

	/** The pause between two steps of durable work, milliseconds: `leastMs`, or as long as requests wait for the thread of a runtime that is behind. */
	pause(leastMs: number): number {
		return this.isBehind ? Math.max(leastMs, Math.min(MAX_PAUSE_MS, this.#lateMs)) : leastMs;
	}

	/** Waits as long as requests wait for the thread of a runtime that is behind. */
	async giveWay(wait: (milliseconds: number) => Promise<void>): Promise<void> {
		if (this.isBehind) await wait(this.pause(0));
	}
}
