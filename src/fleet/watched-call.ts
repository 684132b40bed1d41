/** A target of engine calls with its circuit, and the outcome of one call. */
import type { Breaker } from "./breaker.ts";

/** Identifies what fails together. */
export interface Addressed {
	backend: string;
	url: string;
	model: string;
	/** The caller chose the model's name: all such names share one circuit, so that callers cannot fill the memory. */
	anyModel?: true;
}

/** The outcome of one call. Only the first of `succeed`, `fail` and `cancel` counts. */
export interface CallOutcome {
	/** The answer has started. */
	begin(): void;
	succeed(): void;
	/** `cooldownMs`: the engine's `Retry-After`. */
	fail(cooldownMs?: number): void;
	/** The caller has disconnected: the call shows nothing about the engine's health. */
	cancel(): void;
}

export interface Watched {
	target: Addressed;
	/** The number of its last use, counted over all targets. */
	usedAt: number;
	requests: number;
	/** All failures, including reported ones. */
	failed: number;
	begun: number;
	waitedMs: number;
	breaker: Breaker;
	/** Failures that are not reported yet. */
	failures: number;
	failedAt: number;
	changed: boolean;
}

/** Only a failure, and a recovery of a circuit that had been open, are reported: all other circuits are healthy in every view. */
export class WatchedCall implements CallOutcome {
	readonly #watched: Watched;
	readonly #since: number;
	readonly #now: () => number;
	readonly #onOutcome: (watched: Watched, at: number) => void;
	#hasBegun = false;
	#hasEnded = false;

	constructor(
		watched: Watched,
		since: number,
		now: () => number,
		onOutcome: (watched: Watched, at: number) => void,
	) {
		this.#watched = watched;
		this.#since = since;
		this.#now = now;
		this.#onOutcome = onOutcome;
	}

	begin(): void {
		if (this.#hasEnded) return;
		const at = this.#now();
		this.#countBegin(at);
		this.#watched.changed = this.#watched.breaker.begin(at, this.#since) || this.#watched.changed;
		this.#onOutcome(this.#watched, at);
	}

	succeed(): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		const at = this.#now();
		this.#countBegin(at);
		this.#watched.failures = 0;
		this.#watched.changed = this.#watched.breaker.succeed(at, this.#since) || this.#watched.changed;
		this.#onOutcome(this.#watched, at);
	}

	fail(cooldownMs?: number): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		const watched = this.#watched;
		const at = this.#now();
		watched.breaker.fail(at, this.#since, cooldownMs);
		watched.failures++;
		watched.failed++;
		watched.failedAt = at;
		watched.changed = true;
		this.#onOutcome(watched, at);
	}

	cancel(): void {
		if (this.#hasEnded) return;
		this.#hasEnded = true;
		this.#watched.breaker.cancel(this.#since);
		this.#onOutcome(this.#watched, this.#now());
	}

	#countBegin(at: number): void {
		if (this.#hasBegun) return;
		this.#hasBegun = true;
		this.#watched.begun++;
		this.#watched.waitedMs += Math.max(0, at - this.#since);
	}
}
