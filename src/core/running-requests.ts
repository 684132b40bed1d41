/**
 * The count of requests under way that run a model or a provider, also after their callers have left. Each may hold files and memory until its
 * end, so a process has a maximum, and each account a share of it.
 *
 * A tenth of the places is for accounts that have none under way. The others are guaranteed in equal parts to the accounts that have
 * some, and lent to an account beyond its part while no other account could need them. So a single account may use nearly all places,
 * and one that floods the process cannot refuse another account its part.
 */
import { AiError } from "./errors.ts";

const FREE_FOR_NEW_ACCOUNTS = 0.1;
const BUSY_SECONDS = 2;

export class RunningRequests {
	readonly #max: number;
	/** Places that are not reserved for new accounts. */
	readonly #lent: number;
	readonly #counts = new Map<string, number>();
	#size = 0;

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

	/** Counts the request until `ended` settles. Throws 3040 (429) if the account or the process has too many. */
	hold(account: string, ended: Promise<unknown>): void {
		if (!this.#mayBegin(account)) throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
		this.#size++;
		this.#counts.set(account, (this.#counts.get(account) ?? 0) + 1);
		const end = (): void => this.#end(account);
		ended.then(end, end);
	}

	#end(account: string): void {
		this.#size--;
		const others = (this.#counts.get(account) ?? 1) - 1;
		if (others > 0) this.#counts.set(account, others);
		else this.#counts.delete(account);
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
