/**
 * How much a process holds of one class, such as sockets or buffered bytes. It is taken before it is held, and released at the end.
 *
 * An account may take more while it then holds at most as much as was free. So one busy account gets a half, two get a third each, and an
 * account that holds nothing is refused only if the others leave too little.
 */
import { AiError } from "./errors.ts";

const RETRY_SECONDS = 2;

export interface CountReport {
	/** The class. */
	name: string;
	used: number;
	limit: number;
	/** Since the start. */
	refused: number;
}

/** How the guard of a worker separates large requests from small ones (`--separate-large`). */
export interface SeparatedRequests {
	separatesLarge: boolean;
	/** Requests while large ones were separated, since the start. */
	large: number;
	small: number;
}

/** What another process reports. */
export interface ProcessReport {
	counts: CountReport[];
	/** Only a connection guard has it. */
	separated?: SeparatedRequests | undefined;
}

/** Where another process sends its counts when this one has become idle after a load, and should collect its garbage. */
export const COLLECTION_PATH = "/collect-garbage";
/** Answered at once, so that another process can measure how late this one is. */
export const PROBE_PATH = "/probe";
/** Of the query of a probe: the position of the last accepted token that the guard has received. */
export const AFTER_PARAMETER = "after";

export class SharedCount {
	readonly #name: string;
	readonly #title: string;
	#max: number;
	#used = 0;
	#refused = 0;
	readonly #accounts = new Map<string, number>();

	/** `title`: for the message of a refusal, in the plural. */
	constructor({ name, title, max }: { name: string; title: string; max: number }) {
		this.#name = name;
		this.#title = title;
		this.#max = max;
	}

	/** The limit of the machine is known. */
	limitTo(max: number): void {
		this.#max = max;
	}

	/** Returns whether the amount was taken. Counts a refusal if it was not. */
	tryTake(account: string, amount = 1): boolean {
		const isTaken = this.takeIfFree(account, amount);
		if (!isTaken) this.refuse();
		return isTaken;
	}

	/** Returns whether the amount was taken. For a caller that tries again: it calls `refuse` when it gives up. */
	takeIfFree(account: string, amount = 1): boolean {
		const own = (this.#accounts.get(account) ?? 0) + amount;
		if (own > this.#max - this.#used) return false;
		this.add(account, amount);
		return true;
	}

	/** Counts a refusal. */
	refuse(): void {
		this.#refused++;
	}

	/** Takes the amount in any case. */
	add(account: string, amount = 1): void {
		this.#used += amount;
		this.#accounts.set(account, (this.#accounts.get(account) ?? 0) + amount);
	}

	/** Throws 3040 (429) if the amount cannot be taken. */
	take(account: string, amount = 1): void {
		if (!this.tryTake(account, amount))
			throw new AiError(
				"outOfCapacity",
				`Capacity temporarily exceeded, please try again: the gateway's ${this.#title} are in use`,
				{ retryAfter: RETRY_SECONDS, retryable: false },
			);
	}

	release(account: string, amount = 1): void {
		this.#used -= amount;
		const others = (this.#accounts.get(account) ?? 0) - amount;
		if (others > 0) this.#accounts.set(account, others);
		else this.#accounts.delete(account);
	}

	report(): CountReport {
		return { name: this.#name, used: this.#used, limit: this.#max, refused: this.#refused };
	}
}
