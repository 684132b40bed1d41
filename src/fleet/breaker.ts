/**
 * A circuit breaker: stops calls to an engine that keeps failing, and detects soon that it works again.
 *
 * *closed*: calls go through. *open*: no calls during a cooldown; each cooldown in a row is twice as long. *half-open*: the
 * cooldown is over, and one probe at a time is allowed. When the probe starts to answer, the circuit closes; the next failure
 * opens it again until an answer has been complete. With the longest cooldown and the longest probe, a working engine is
 * called again within 30 seconds.
 *
 * Pure: time is an argument, in epoch milliseconds. Results of calls that started before the last change are ignored.
 */

/** Consecutive failures that open a closed circuit. */
const FAILURES_TO_OPEN = 5;
const FIRST_COOLDOWN_MS = 5_000;
const LONGEST_COOLDOWN_MS = 20_000;
/** A probe that has not started to answer within this time no longer blocks the next one. */
const PROBE_MS = 10_000;

export type CircuitState = "closed" | "half-open" | "open";

/** A circuit in the form in which isolates exchange it. */
export interface Circuit {
	/** Epoch milliseconds; 0 if it never opened. */
	openedAt: number;
	/** End of the cooldown. */
	cooldownUntil: number;
	/** Time of the latest successful call. */
	workedAt: number;
}

export class Breaker {
	#failures = 0;
	#open = false;
	/** Consecutive cooldowns, without a complete answer between them. */
	#cooldowns = 0;
	#openedAt = 0;
	#cooldownUntil = 0;
	#workedAt = 0;
	#probedAt: number | undefined;

	get circuit(): Circuit {
		return { openedAt: this.#openedAt, cooldownUntil: this.#cooldownUntil, workedAt: this.#workedAt };
	}

	state(now: number): CircuitState {
		if (!this.#open) return "closed";
		const isProbing = this.#probedAt !== undefined && now < this.#probedAt + PROBE_MS;
		return isProbing || now < this.#cooldownUntil ? "open" : "half-open";
	}

	/** A call starts. */
	start(now: number): void {
		if (this.state(now) === "half-open") this.#probedAt = now;
	}

	/** The call that started at `since` has started to answer. Returns whether a circuit that had been open has closed. */
	begin(now: number, since: number): boolean {
		if (!this.#open || since < this.#openedAt) return false;
		this.#failures = FAILURES_TO_OPEN - 1;
		return this.#close(now);
	}

	/** The answer is complete. Returns the same as {@link begin}. */
	succeed(now: number, since: number): boolean {
		if (since < this.#openedAt) return false;
		this.#failures = 0;
		this.#cooldowns = 0;
		return this.#close(now);
	}

	/** The call has failed. `cooldownMs`: the engine's `Retry-After`. */
	fail(now: number, since: number, cooldownMs?: number): void {
		if (this.#open) {
			// A call that was made during the cooldown shows nothing new.
			const isProbe = since >= this.#cooldownUntil;
			if (isProbe) this.#openFor(now, cooldownMs);
			return;
		}
		if (since < this.#openedAt) return;
		this.#failures++;
		if (cooldownMs !== undefined || this.#failures >= FAILURES_TO_OPEN) this.#openFor(now, cooldownMs);
	}

	/** The caller has cancelled the call: it shows nothing. */
	cancel(since: number): void {
		if (this.#probedAt === since) this.#probedAt = undefined;
	}

	/** Takes over what other isolates have seen, if it is newer. */
	learn({ openedAt, cooldownUntil, workedAt }: Circuit): void {
		if (openedAt > Math.max(this.#workedAt, this.#openedAt, workedAt)) {
			this.#open = true;
			this.#openedAt = openedAt;
			this.#cooldownUntil = cooldownUntil;
			this.#cooldowns = Math.max(this.#cooldowns, 1);
			this.#probedAt = undefined;
		} else if (this.#open && workedAt > this.#openedAt) {
			this.#close(workedAt);
			this.#failures = FAILURES_TO_OPEN - 1;
		}
	}

	#close(now: number): boolean {
		const hadOpened = this.#openedAt > 0 && this.#workedAt <= this.#openedAt;
		this.#open = false;
		this.#probedAt = undefined;
		this.#workedAt = Math.max(this.#workedAt, now);
		return hadOpened && this.#workedAt > this.#openedAt;
	}

	#openFor(now: number, cooldownMs = FIRST_COOLDOWN_MS * 2 ** this.#cooldowns): void {
		this.#open = true;
		this.#cooldowns++;
		this.#failures = 0;
		this.#openedAt = now;
		this.#cooldownUntil = now + Math.min(cooldownMs, LONGEST_COOLDOWN_MS);
		this.#probedAt = undefined;
	}
}
