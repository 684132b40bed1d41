/**
 * Exact limits of requests per minute (sliding window log): a request is admitted if fewer requests than the limit were admitted
 * during the last 60 seconds, so no period of 60 seconds has more than the limit. In memory. The ledger rebuilds it from the
 * requests of the last minute.
 *
 * A lease holds requests: each counts as admitted until it is reported, or until its lease is returned or charged.
 */
import type { RateLimit } from "../admission.ts";
import { LEASE_MS } from "../lease.ts";

export const WINDOW_MS = 60_000;

/** Expired times that a window keeps at its front before it is shortened. */
const SLACK = 64;

interface Window {
	/** Times of admission, ascending. Those before `start` have expired. */
	times: number[];
	start: number;
}

/** `until`: infinite if the rate admits no request. */
export interface FullRate {
	rate: RateLimit;
	until: number;
}

export class Windows {
	/** By rate key. Keys are tasks, models with a rate, and tokens, so the settings bound them. The alarm deletes idle ones. */
	readonly #windows = new Map<string, Window>();
	/** Requests that leases hold, by rate key. */
	readonly #held = new Map<string, number>();

	/** The rate that refuses one more request longest, and until when if no other request is admitted. `undefined`: none refuses it. */
	refusing(rates: readonly RateLimit[], now: number): FullRate | undefined {
		let longest: FullRate | undefined;
		for (const rate of rates) {
			const until = this.#opensAt(rate, now);
			if (until > (longest?.until ?? now)) longest = { rate, until };
		}
		return longest;
	}

	#opensAt({ key, perMinute }: RateLimit, now: number): number {
		if (perMinute <= 0) return Number.POSITIVE_INFINITY;
		const limit = perMinute - (this.#held.get(key) ?? 0);
		if (limit <= 0) return now + LEASE_MS;
		const window = this.#live(key, now);
		if (!window) return now;
		// When this request expires, there are fewer requests than the limit. Not needed below the limit.
		const expiring = window.times[Math.max(window.start, window.times.length - limit)];
		const isFull = window.times.length - window.start >= limit && expiring !== undefined;
		return isFull ? expiring + WINDOW_MS : now;
	}

	/** Times must ascend. */
	count(keys: Iterable<string>, time: number): void {
		for (const key of keys) {
			const window = this.#windows.get(key);
			if (window) window.times.push(time);
			else this.#windows.set(key, { times: [time], start: 0 });
		}
	}

	/** Adds to the requests that leases hold. Negative: they are free again. */
	hold(keys: Iterable<string>, requests: number): void {
		for (const key of keys) {
			const held = (this.#held.get(key) ?? 0) + requests;
			if (held > 0) this.#held.set(key, held);
			else this.#held.delete(key);
		}
	}

	/** Admitted in the last minute, or held by leases. */
	used(key: string, now: number): number {
		const window = this.#live(key, now);
		return (window ? window.times.length - window.start : 0) + (this.#held.get(key) ?? 0);
	}

	clear(): void {
		this.#windows.clear();
		this.#held.clear();
	}

	/** Deletes windows without requests in the last minute. */
	deleteIdle(now: number): void {
		for (const key of [...this.#windows.keys()]) if (this.used(key, now) === 0) this.#windows.delete(key);
	}

	#live(key: string, now: number): Window | undefined {
		const window = this.#windows.get(key);
		if (!window) return undefined;
		const { times } = window;
		while ((times[window.start] ?? Number.POSITIVE_INFINITY) <= now - WINDOW_MS) window.start++;
		if (window.start > SLACK && window.start * 2 > times.length) {
			times.splice(0, window.start);
			window.start = 0;
		}
		return window;
	}
}
