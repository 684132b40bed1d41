/**
 * The connections of a process to a server: at most `max`, which accounts share. While other accounts wait, an account has at most its part.
 * Connections that are kept between two queries are at most half of them, so the others remain for writes and for new accounts.
 */
import { hasPassed, SetBackClock } from "../../../../core/elapsed.ts";

/** Of an account. */
const MAX_KEPT = 8;
/** Who waits asks again much earlier. A request that has ended does not. */
const WAITS_FOR_MS = 1_000;

/** After `ms` from `since` the connection does not exist any more, whatever has happened to the request that opened it. */
interface Lasting {
	/** Epoch milliseconds. */
	since: number;
	ms: number;
}

export interface ConnectionPlace {
	readonly account: string;
	/** Between two queries. */
	isKept: boolean;
	/** The connection goes on. */
	renew(lasts: Lasting): void;
	release(): void;
}

export class ConnectionPlaces {
	readonly max: number;
	readonly #places = new Map<ConnectionPlace, Lasting>();
	/** When an account has last found no free place. */
	readonly #waiting = new Map<string, number>();
	readonly #clock = new SetBackClock();

	constructor(max: number) {
		this.max = max;
	}

	/** `undefined`: there is none for the account now. It waits, and asks again. */
	take(account: string, lasts: Lasting): ConnectionPlace | undefined {
		const { since: now } = lasts;
		this.#forget(now);
		if (this.#places.size >= this.max || (this.#othersWait(account) && this.#has(account) >= this.#part())) {
			this.#waiting.set(account, now);
			return undefined;
		}
		this.#waiting.delete(account);
		const place: ConnectionPlace = {
			...{ account, isKept: false },
			renew: (longer) => void this.#places.set(place, longer),
			release: () => void this.#places.delete(place),
		};
		place.renew(lasts);
		return place;
	}

	/** Whether the connection may stay open for the next query of its account. */
	mayKeep({ account }: ConnectionPlace, now: number): boolean {
		this.#forget(now);
		if (this.#othersWait(account) && (!this.#waiting.has(account) || this.#has(account) > this.#part()))
			return false;
		const kept = [...this.#places.keys()].filter(({ isKept }) => isKept);
		const half = Math.floor(this.max / 2);
		const accounts = new Set([account, ...kept.map((place) => place.account)]).size;
		const own = kept.filter((place) => place.account === account).length;
		return kept.length < half && own < Math.min(MAX_KEPT, Math.max(1, Math.floor(half / accounts)));
	}

	#forget(now: number): void {
		// If the clock was set back, nobody knows how much of the time of a connection has passed. From now on it lasts no longer than it may.
		const isSetBack = this.#clock.notices(now);
		for (const [place, { ms, since }] of this.#places)
			if (isSetBack) place.renew({ since: now, ms });
			else if (since + ms < now) place.release();
		for (const [account, at] of this.#waiting)
			if (hasPassed(WAITS_FOR_MS, at, now)) this.#waiting.delete(account);
	}

	#has(account: string): number {
		return [...this.#places.keys()].filter((place) => place.account === account).length;
	}

	#othersWait(account: string): boolean {
		return this.#waiting.size > (this.#waiting.has(account) ? 1 : 0);
	}

	/** Of each account that has places or waits for one. */
	#part(): number {
		const accounts = new Set([
			...this.#waiting.keys(),
			...[...this.#places.keys()].map(({ account }) => account),
		]);
		return Math.max(1, Math.floor(this.max / accounts.size));
	}
}
