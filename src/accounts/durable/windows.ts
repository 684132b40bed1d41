/**
 * Requests per minute, exactly: a request passes where fewer than the limit were let in during the 60 seconds up to
 * now, so no minute, wherever it begins, holds more than the limit. In memory; the ledger rebuilds it from the requests
 * of the last minute.
 */
import type { RateLimit } from "../admission.ts";

export const WINDOW_MS = 60_000;

/** Dead times that a window keeps at its front before it is made shorter. */
const SLACK = 64;

interface Window {
	/** When requests were let in, ascending. Those before `start` are dead. */
	times: number[];
	start: number;
}

export class Windows {
	/** By rate: tasks, models with a rate and tokens, so the settings bound it. The alarm forgets idle ones. */
	readonly #windows = new Map<string, Window>();

	/** When one more request of these keys may pass, were no other let in; not after `now` if it may pass at once. */
	opensAt(rates: readonly RateLimit[], now: number): number {
		let opens = now;
		for (const { key, perMinute } of rates) {
			if (perMinute <= 0) return Number.POSITIVE_INFINITY;
			const window = this.#live(key, now);
			if (!window) continue;
			// The request whose leaving makes room; there is room already where there are too few.
			const leaving = window.times[Math.max(window.start, window.times.length - perMinute)];
			if (window.times.length - window.start >= perMinute && leaving !== undefined)
				opens = Math.max(opens, leaving + WINDOW_MS);
		}
		return opens;
	}

	/** Times must come in order. */
	count(keys: Iterable<string>, time: number): void {
		for (const key of keys) {
			const window = this.#windows.get(key);
			if (window) window.times.push(time);
			else this.#windows.set(key, { times: [time], start: 0 });
		}
	}

	used(key: string, now: number): number {
		const window = this.#live(key, now);
		return window ? window.times.length - window.start : 0;
	}

	clear(): void {
		this.#windows.clear();
	}

	/** Frees the memory of windows that nobody used for a minute. */
	forget(now: number): void {
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
