/** Which requests of many accounts are followed by similar ones soon, so that a lease serves them. */
import { BoundedMap } from "../../core/bounded-map.ts";
import { hasPassed } from "../../core/elapsed.ts";

const MAX_CLASSES = 20_000;

export class RecentClasses {
	readonly #now: () => number;
	/** The time of the latest request, by class. */
	readonly #latest = new BoundedMap<string, number>(MAX_CLASSES);

	constructor({ now }: { now(): number }) {
		this.#now = now;
	}

	/** Records a request. Returns whether one of its class was recorded in the `ms` before. */
	record(key: string, ms: number): boolean {
		const now = this.#now();
		const latest = this.#latest.get(key);
		this.#latest.set(key, now);
		return !hasPassed(ms, latest, now);
	}
}
