/**
 * Chooses the worker that serves a request. With several workers, each guard knows its own worker and one more. While one of them is behind,
 * the first worker, which has the Durable Objects, serves large requests, and the other one small requests. So a caller with small
 * requests does not wait for the large ones of others.
 *
 * Large are websockets, bodies above a size or of an unknown size, and all requests of callers who lately sent or received much at once.
 * So are requests without an accepted token: what they cost is not known.
 */
import { BoundedMap } from "../../src/core/bounded-map.ts";
import type { MessageHead } from "./framing.ts";
import { credentialsOf, type KnownCallers } from "./known-callers.ts";
import type { Pace } from "./pace.ts";

/** Of a body. */
const LARGE_BYTES = 64 * 1024;
/** A caller of large requests is one for this long. */
const LARGE_MS = 10_000;
/** At more, all are forgotten. */
const MAX_CALLERS = 10_000;
/** After a worker was behind, requests stay divided for this long: the large ones of before may still run. */
const DIVIDED_MS = 5_000;

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

interface ChoiceOptions {
	own: RuntimeWorker;
	/** Absent: the gateway has one worker. */
	pair?: WorkerPair | undefined;
	callers: KnownCallers;
	now(): number;
	/** Of health checks and the operator. */
	isProbe(head: MessageHead): boolean;
}

export class WorkerChoice {
	readonly own: RuntimeWorker;
	readonly #pair: WorkerPair | undefined;
	readonly #callers: KnownCallers;
	readonly #now: () => number;
	readonly #isProbe: (head: MessageHead) => boolean;
	/** When each caller last sent or received much. */
	readonly #largeAt = new BoundedMap<string, number>(MAX_CALLERS);
	#behindAt = Number.NEGATIVE_INFINITY;

	constructor({ own, pair, callers, now, isProbe }: ChoiceOptions) {
		this.own = own;
		this.#pair = pair;
		this.#callers = callers;
		this.#now = now;
		this.#isProbe = isProbe;
	}

	/** `address`: of the caller. */
	of(head: MessageHead, address: string): RuntimeWorker {
		const pair = this.#pair;
		if (!pair || !this.#isDivided(pair)) return this.own;
		return this.#isLarge(head, address) ? pair.large : pair.small;
	}

	/** The caller has sent or received much at once. */
	moved(caller: string): void {
		if (this.#pair) this.#largeAt.set(caller, this.#now());
	}

	#isDivided({ large, small }: WorkerPair): boolean {
		const at = this.#now();
		if (large.pace.isBehind || small.pace.isBehind) this.#behindAt = at;
		return at - this.#behindAt < DIVIDED_MS;
	}

	#isLarge(head: MessageHead, address: string): boolean {
		const { headers } = head;
		if (headers.has("upgrade") || headers.has("transfer-encoding") || headers.has("content-encoding"))
			return true;
		if (Number(headers.get("content-length") ?? 0) > LARGE_BYTES) return true;
		if (this.#isProbe(head)) return false;
		const credentials = credentialsOf(head);
		if (!this.#callers.isKnown(credentials)) return true;
		const { key } = this.#callers.of(address, credentials);
		return this.#now() - (this.#largeAt.get(key) ?? Number.NEGATIVE_INFINITY) < LARGE_MS;
	}
}
