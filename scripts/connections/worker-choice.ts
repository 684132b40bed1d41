/**
 * Chooses the worker that serves a request. With `--separate-large`, each guard knows its own worker and one more. While one of them is behind,
 * the first worker, which has the Durable Objects, serves large requests, and the other one small requests, unless only the other one is
 * behind. So a caller with small requests does not wait for the large ones of others.
 *
 * Large are websockets, bodies above a size or of an unknown size, and all requests of callers who lately sent or received much at once on
 * one connection. So are requests without an accepted token: what they cost is not known.
 */
import { BoundedMap } from "../../src/core/bounded-map.ts";
import { BEHIND_MS } from "../../src/core/runtime-delay.ts";
import type { SeparatedRequests } from "../../src/core/shared-count.ts";
import type { MessageHead } from "./framing.ts";
import type { Pace } from "./pace.ts";

/** Of a body. */
const LARGE_BYTES = 64 * 1024;
/** A caller of large requests is one for this long. */
const LARGE_MS = 10_000;
/** At more, all are forgotten. */
const MAX_CALLERS = 10_000;
/** After a worker was behind, requests stay separated for this long: the large ones of before may still run. */
const SEPARATED_MS = 5_000;

/** A process of the runtime. */
export interface RuntimeWorker {
	/** Its Unix socket. */
	target: string;
	pace: Pace;
}

/** Two workers of one gateway. One of them is the guard's own. */
export interface WorkerPair {
	large: RuntimeWorker;
	small: RuntimeWorker;
}

/** The caller of a request. */
interface ChoosingCaller {
	/** As of `PacedCaller`. */
	key: string;
	/** It has an accepted token. */
	isKnown: boolean;
	/** The request is a health check or the operator's. */
	isProbe: boolean;
}

interface ChoiceOptions {
	own: RuntimeWorker;
	/** Absent: the gateway has one worker. */
	pair?: WorkerPair | undefined;
	now(): number;
}

/** It is behind, or the answer to the last probe, or the one that has no answer yet, is late. */
const isLate = ({ pace }: RuntimeWorker): boolean => pace.isBehind || pace.lateMs > BEHIND_MS;

export class WorkerChoice {
	readonly own: RuntimeWorker;
	readonly #pair: WorkerPair | undefined;
	readonly #now: () => number;
	/** When each caller last sent or received much. */
	readonly #largeAt = new BoundedMap<string, number>(MAX_CALLERS);
	#behindAt = Number.NEGATIVE_INFINITY;
	readonly #separated = { large: 0, small: 0 };

	constructor({ own, pair, now }: ChoiceOptions) {
		this.own = own;
		this.#pair = pair;
		this.#now = now;
	}

	get hasPeer(): boolean {
		return this.#pair !== undefined;
	}

	of(head: MessageHead, caller: ChoosingCaller): RuntimeWorker {
		const pair = this.#pair;
		if (!pair || !this.#separatesLarge(pair) || caller.isProbe) return this.own;
		const isLarge = this.#isLarge(head, caller);
		this.#separated[isLarge ? "large" : "small"]++;
		if (isLarge) return pair.large;
		return isLate(pair.small) && !isLate(this.own) ? this.own : pair.small;
	}

	report(): SeparatedRequests {
		return {
			separatesLarge: this.#pair !== undefined && this.#separatesLarge(this.#pair),
			...this.#separated,
		};
	}

	/** The caller has sent or received much at once. */
	markLarge(key: string): void {
		this.#largeAt.set(key, this.#now());
	}

	#separatesLarge({ large, small }: WorkerPair): boolean {
		const at = this.#now();
		if (isLate(large) || isLate(small)) this.#behindAt = at;
		return at - this.#behindAt < SEPARATED_MS;
	}

	#isLarge(head: MessageHead, { key, isKnown }: ChoosingCaller): boolean {
		const { headers } = head;
		if (headers.get("upgrade")?.toLowerCase() === "websocket") return true;
		if (headers.has("transfer-encoding") || headers.has("content-encoding")) return true;
		if (Number(headers.get("content-length") ?? 0) > LARGE_BYTES) return true;
		if (!isKnown) return true;
		return this.#now() - (this.#largeAt.get(key) ?? Number.NEGATIVE_INFINITY) < LARGE_MS;
	}
}
