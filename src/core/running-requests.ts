/**
 * The count of requests under way that run a model or a provider, also after their callers have left. Each may hold files and memory until its
 * end, so a process has a maximum, and each account a share of it.
 *
 * A tenth of the places is for accounts that have none under way.
 *
 * A request without a place waits shortly: after a pause of the process, or a burst, many begin at once and end soon.
 */
import { AiError } from "./errors.ts";
import { FairShares } from "./fair-shares.ts";
import type { CountReport } from "./shared-count.ts";

const FREE_FOR_NEW_ACCOUNTS = 0.1;
const BUSY_SECONDS = 2;
/** The longest wait for a place. */
const WAIT_MS = 2_000;
/** Requests that wait at the same time. */
const MAX_WAITING = 256;

interface WaitingRequest {
	account: string;
	begin(): void;
}

export class RunningRequests {
	readonly #shares: FairShares;
	/** The oldest is first. */
	#waiting: WaitingRequest[] = [];
	#refused = 0;

	/** `max` infinite: nothing is refused. */
	constructor(max: number) {
		this.#shares = new FairShares(max, Math.ceil(max * FREE_FOR_NEW_ACCOUNTS));
	}

	get size(): number {
		return this.#shares.size;
	}

	get isFull(): boolean {
		return this.#shares.isFull;
	}

	/** `undefined`: the account has a place, or the request cannot wait. Otherwise resolves when it has one, or after two seconds. */
	waitForPlace(account: string, wait: (milliseconds: number) => Promise<void>): Promise<void> | undefined {
		const isFirst = !this.#waiting.some((other) => other.account === account);
		if ((isFirst && this.#shares.mayTake(account)) || this.#waiting.length >= MAX_WAITING) return undefined;
		const { promise, resolve } = Promise.withResolvers<void>();
		const request: WaitingRequest = { account, begin: resolve };
		this.#waiting.push(request);
		return Promise.race([promise, wait(WAIT_MS)]).finally(() => {
			this.#waiting = this.#waiting.filter((other) => other !== request);
		});
	}

	/** Counts the request until `ended` settles. Throws 3040 (429) if the account or the process has too many. */
	hold(account: string, ended: Promise<unknown>): void {
		if (!this.#shares.mayTake(account)) {
			this.countRefusal();
			throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
		}
		this.#shares.take(account);
		const end = (): void => this.#end(account);
		ended.then(end, end);
	}

	/** A request was refused before its account is known. */
	countRefusal(): void {
		this.#refused++;
	}

	report(): CountReport {
		return { name: "requests", used: this.#shares.size, limit: this.#shares.max, refused: this.#refused };
	}

	#end(account: string): void {
		this.#shares.release(account);
		const next = this.#waiting.findIndex((request) => this.#shares.mayTake(request.account));
		if (next >= 0) for (const request of this.#waiting.splice(next, 1)) request.begin();
	}

	/** So few are under way that every account has a place. */
	get isQuiet(): boolean {
		return this.#shares.isQuiet;
	}
}
