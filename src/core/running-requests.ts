/**
 * The count of requests under way that run a model or a provider, also after their callers have left. Each may hold files and memory until its
 * end, so a process has a maximum, and each account a share of it.
 *
 * A tenth of the places is for accounts that have none under way. The others are guaranteed in equal parts to the accounts that have
 * some, and lent to an account beyond its part while no other account could need them. So a single account may use nearly all places,
 * and one that floods the process cannot refuse another account its part.
 *
 * A request without a place waits shortly: after a pause of the process, or a burst, many begin at once and end soon.
 */
import { AiError } from "./errors.ts";
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
	readonly #max: number;
	/** Places that are not reserved for new accounts. */
	readonly #lent: number;
	readonly #counts = new Map<string, number>();
	/** The oldest is first. */
	#waiting: WaitingRequest[] = [];
	#size = 0;
	#refused = 0;

	/** `max` infinite: nothing is refused. */
	constructor(max: number) {
		this.#max = max;
		this.#lent = Math.max(1, max - Math.ceil(max * FREE_FOR_NEW_ACCOUNTS));
	}

	get size(): number {
		return this.#size;
	}

	get isFull(): boolean {
		return this.#size >= this.#max;
	}

	/** `undefined`: the account has a place, or the request cannot wait. Otherwise resolves when it has one, or after two seconds. */
	waitForPlace(account: string, wait: (milliseconds: number) => Promise<void>): Promise<void> | undefined {
		const isFirst = !this.#waiting.some((other) => other.account === account);
		if ((isFirst && this.#mayBegin(account)) || this.#waiting.length >= MAX_WAITING) return undefined;
		const { promise, resolve } = Promise.withResolvers<void>();
		const request: WaitingRequest = { account, begin: resolve };
		this.#waiting.push(request);
		return Promise.race([promise, wait(WAIT_MS)]).finally(() => {
			this.#waiting = this.#waiting.filter((other) => other !== request);
		});
	}

	/** Counts the request until `ended` settles. Throws 3040 (429) if the account or the process has too many. */
	hold(account: string, ended: Promise<unknown>): void {
		if (!this.#mayBegin(account)) {
			this.countRefusal();
			throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
		}
		this.#size++;
		this.#counts.set(account, (this.#counts.get(account) ?? 0) + 1);
		const end = (): void => this.#end(account);
		ended.then(end, end);
	}

	/** A request was refused before its account is known. */
	countRefusal(): void {
		this.#refused++;
	}

	report(): CountReport {
		return { name: "requests", used: this.#size, limit: this.#max, refused: this.#refused };
	}

	#end(account: string): void {
		this.#size--;
		const others = (this.#counts.get(account) ?? 1) - 1;
		if (others > 0) this.#counts.set(account, others);
		else this.#counts.delete(account);
		const next = this.#waiting.findIndex((request) => this.#mayBegin(request.account));
		if (next >= 0) for (const request of this.#waiting.splice(next, 1)) request.begin();
	}

	/** So few are under way that every account has a place. */
	get isQuiet(): boolean {
		return this.#max === Number.POSITIVE_INFINITY || this.#size < this.#lent / (this.#counts.size + 1);
	}

	#mayBegin(account: string): boolean {
		if (this.#max === Number.POSITIVE_INFINITY) return true;
		if (this.isFull) return false;
		const own = this.#counts.get(account);
		if (own === undefined) return true;
		const part = Math.floor(this.#lent / this.#counts.size);
		if (own < part) return true;
		let unused = 0;
		for (const [other, count] of this.#counts) if (other !== account) unused += Math.max(0, part - count);
		return this.#size + unused < this.#lent;
	}
}
