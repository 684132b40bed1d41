/**
 * What isolates share about the replicas of a pool: queued tokens, and hints about cached prompts. Each isolate shares its own, and
 * gets the sum of the others' tokens and their hints. It uses them until the next exchange: no request waits for it. Pure.
 */
import { hasPassed } from "../core/elapsed.ts";
import type { PrefixHint } from "./prefix-hints.ts";

/** Queued tokens by address. Replicas without any are absent. */
export type Loads = { url: string; tokens: number }[];

/** What one isolate shares. */
export interface OwnShare {
	loads: Loads;
	/** New ones, since its last exchange. */
	hints: PrefixHint[];
	/** `sequence` of its last exchange; 0 at first. */
	since: number;
}

export interface OthersShare {
	/** Sums of all other isolates. */
	others: Loads;
	/** New ones of all other isolates. */
	hints: PrefixHint[];
	/** Identifies this exchange in the next one. */
	sequence: number;
	/** Isolates that have shared their loads lately, including this one. */
	isolates: number;
}

/** What an isolate has shared is used this long: an isolate that ends returns nothing. */
export const SHARED_MS = 5_000;
const MAX_ISOLATES = 5_000;
/** Hints that one exchange returns, the newest. They have about 40 KB. */
const MAX_HINTS = 500;

export class SharedLoads {
	/** In the order of their latest exchange. */
	readonly #isolates = new Map<string, { loads: Loads; at: number }>();
	readonly #sums = new Map<string, number>();
	/** The newest hints, and who shared them. */
	#hints: { isolate: string; hint: PrefixHint }[] = [];
	/** Number of all hints so far. */
	#sequence = 0;

	/** Replaces the loads of an isolate. Takes time in proportion to the replicas and the new hints, not to the isolates. */
	exchange(isolate: string, { hints, loads, since }: OwnShare, now: number): OthersShare {
		this.#drop(isolate);
		for (const [name, { at }] of this.#isolates) {
			if (!hasPassed(SHARED_MS, at, now) && this.#isolates.size < MAX_ISOLATES) break;
			this.#drop(name);
		}
		const others = [...this.#sums].map(([url, tokens]) => ({ url, tokens }));
		this.#isolates.set(isolate, { loads, at: now });
		for (const { url, tokens } of loads) this.#sums.set(url, (this.#sums.get(url) ?? 0) + tokens);
		const news = this.#hintsSince(since).flatMap((one) => (one.isolate === isolate ? [] : [one.hint]));
		this.#hints = [...this.#hints, ...hints.map((hint) => ({ isolate, hint }))].slice(-MAX_HINTS);
		this.#sequence += hints.length;
		return { others, hints: news, sequence: this.#sequence, isolates: this.#isolates.size };
	}

	/** All of the newest if the object has restarted since then. */
	#hintsSince(since: number): { isolate: string; hint: PrefixHint }[] {
		const missed = since <= this.#sequence ? this.#sequence - since : MAX_HINTS;
		return missed === 0 ? [] : this.#hints.slice(-Math.min(missed, MAX_HINTS));
	}

	#drop(isolate: string): void {
		for (const { url, tokens } of this.#isolates.get(isolate)?.loads ?? []) {
			const remaining = (this.#sums.get(url) ?? 0) - tokens;
			if (remaining > 0) this.#sums.set(url, remaining);
			else this.#sums.delete(url);
		}
		this.#isolates.delete(isolate);
	}
}
