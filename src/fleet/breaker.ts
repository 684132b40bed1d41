/**
 * A circuit breaker: leaves an engine that keeps failing in peace, and finds out soon that it is back.
 *
 * *closed*: calls go through. *open*: it rests; each rest in a row is twice as long. *probe*: the rest is over, and one
 * call at a time may try; when it begins to answer the circuit is closed again, on trial until an answer was whole.
 * With the longest rest and the longest probe, an engine that is back is asked again within 30 seconds.
 *
 * Pure: time comes in as epoch milliseconds. Evidence from before the circuit changed changes nothing.
 */

/** Failures in a row that open a closed circuit. */
const FAILURES_TO_OPEN = 5;
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 20_000;
/** A probe that has not begun to answer for so long no longer keeps others from trying. */
const PROBE_MS = 10_000;

export type CircuitState = "closed" | "probe" | "open";

/** A circuit as others learn of it. */
export interface Circuit {
	/** Epoch milliseconds; 0: never. */
	openedAt: number;
	/** End of the rest. */
	restsUntil: number;
	/** Of the latest evidence that it works. */
	workedAt: number;
}

export class Breaker {
	#failures = 0;
	#open = false;
	/** In a row, without a whole answer between them. */
	#rests = 0;
	#openedAt = 0;
	#restsUntil = 0;
	#workedAt = 0;
	#probedAt: number | undefined;

	get circuit(): Circuit {
		return { openedAt: this.#openedAt, restsUntil: this.#restsUntil, workedAt: this.#workedAt };
	}

	standing(now: number): CircuitState {
		if (!this.#open) return "closed";
		const probed = this.#probedAt !== undefined && now < this.#probedAt + PROBE_MS;
		return probed || now < this.#restsUntil ? "open" : "probe";
	}

	/** A call starts. */
	ask(now: number): void {
		if (this.standing(now) === "probe") this.#probedAt = now;
	}

	/** The call that started at `since` has begun to answer. */
	begin(now: number, since: number): void {
		if (!this.#open || since < this.#openedAt) return;
		this.#close(now);
		this.#failures = FAILURES_TO_OPEN - 1;
	}

	/** It has answered to the end. */
	succeed(now: number, since: number): void {
		if (since < this.#openedAt) return;
		this.#close(now);
		this.#failures = 0;
		this.#rests = 0;
	}

	/** It has failed; `restMs`: it asked to be left alone for so long. */
	fail(now: number, since: number, restMs?: number): void {
		if (this.#open) {
			// A call that was made in spite of the rest says nothing new.
			const probe = since >= this.#restsUntil;
			if (probe) this.#rest(now, restMs);
			return;
		}
		if (since < this.#openedAt) return;
		this.#failures++;
		if (restMs !== undefined || this.#failures >= FAILURES_TO_OPEN) this.#rest(now, restMs);
	}

	/** It ended without telling anything: its caller left. */
	leave(since: number): void {
		if (this.#probedAt === since) this.#probedAt = undefined;
	}

	/** What others have seen, where it is newer than what was seen here. */
	learn({ openedAt, restsUntil, workedAt }: Circuit): void {
		if (openedAt > Math.max(this.#workedAt, this.#openedAt, workedAt)) {
			this.#open = true;
			this.#openedAt = openedAt;
			this.#restsUntil = restsUntil;
			this.#rests = Math.max(this.#rests, 1);
			this.#probedAt = undefined;
		} else if (this.#open && workedAt > this.#openedAt) {
			this.#close(workedAt);
			this.#failures = FAILURES_TO_OPEN - 1;
		}
	}

	#close(now: number): void {
		this.#open = false;
		this.#probedAt = undefined;
		this.#workedAt = Math.max(this.#workedAt, now);
	}

	#rest(now: number, restMs = FIRST_REST_MS * 2 ** this.#rests): void {
		this.#open = true;
		this.#rests++;
		this.#failures = 0;
		this.#openedAt = now;
		this.#restsUntil = now + Math.min(restMs, LONGEST_REST_MS);
		this.#probedAt = undefined;
	}
}
