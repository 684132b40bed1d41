/**
 * The connections of a process to a server: at most `max`, which accounts share. While other accounts wait, an account has at most its part.
 * Connections that are kept between two queries are at most half of them, so the others remain for writes and for new accounts.
 */

/** Of an account. */
const MAX_KEPT = 8;
/** Who waits asks again much earlier. A request that has ended does not. */
const WAITS_FOR_MS = 1_000;

export interface ConnectionPlace {
	readonly account: string;
	/** Epoch milliseconds after which the connection does not exist any more, whatever has happened to the request that opened it. */
	readonly until: number;
	/** Between two queries. */
	isKept: boolean;
	/** The connection goes on. */
	renew(until: number): void;
	release(): void;
}

export class ConnectionPlaces {
	readonly max: number;
	readonly #places = new Set<ConnectionPlace>();
	/** When an account has last found no free place. */
	readonly #waiting = new Map<string, number>();

	constructor(max: number) {
		this.max = max;
	}

	/** `undefined`: there is none for the account now. It waits, and asks again. */
	take(account: string, { now, until }: { now: number; until: number }): ConnectionPlace | undefined {
		this.#forget(now);
		if (this.#places.size >= this.max || (this.#othersWait(account) && this.#has(account) >= this.#part())) {
			this.#waiting.set(account, now);
			return undefined;
		}
		this.#waiting.delete(account);
		const place = {
			...{ account, until, isKept: false },
			renew: (later: number) => {
				place.until = later;
				this.#places.add(place);
			},
			release: () => void this.#places.delete(place),
		};
		this.#places.add(place);
		return place;
	}

	/** Whether the connection may stay open for the next query of its account. */
	mayKeep({ account }: ConnectionPlace, now: number): boolean {
		this.#forget(now);
		if (this.#othersWait(account) && (!this.#waiting.has(account) || this.#has(account) > this.#part()))
			return false;
		const kept = [...this.#places].filter(({ isKept }) => isKept);
		const half = Math.floor(this.max / 2);
		const accounts = new Set([account, ...kept.map((place) => place.account)]).size;
		const own = kept.filter((place) => place.account === account).length;
		return kept.length < half && own < Math.min(MAX_KEPT, Math.max(1, Math.floor(half / accounts)));
	}

	#forget(now: number): void {
		for (const place of this.#places) if (place.until < now) this.#places.delete(place);
		for (const [account, at] of this.#waiting)
			if (Math.abs(now - at) > WAITS_FOR_MS) this.#waiting.delete(account);
	}

	#has(account: string): number {
		return [...this.#places].filter((place) => place.account === account).length;
	}

	#othersWait(account: string): boolean {
		return this.#waiting.size > (this.#waiting.has(account) ? 1 : 0);
	}

	/** Of each account that has places or waits for one. */
	#part(): number {
		const accounts = new Set([...this.#waiting.keys(), ...[...this.#places].map(({ account }) => account)]);
		return Math.max(1, Math.floor(this.max / accounts.size));
	}
}
