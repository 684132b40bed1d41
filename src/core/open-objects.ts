/**
 * The count of open Durable Objects, of all classes. The runtime keeps an object open until it has been idle for ten seconds, and an open
 * object holds files of the process. The process ends when it cannot open a file.
 *
 * Accounts share them as a {@link SharedCount}: an account without an open object is refused only if none is free.
 */
import { hasPassed } from "./elapsed.ts";
import { AiError } from "./errors.ts";
import { type CountReport, SharedCount } from "./shared-count.ts";

/** Longer than the runtime keeps an idle object open. */
const OPEN_MS = 12_000;
/** Objects of others close after ten idle seconds. */
const BUSY_SECONDS = 5;
/** Reports about many accounts leave this part free. */
const FREE_FOR_REQUESTS = 0.5;

interface OpenObject {
	account: string;
	/** Of its last call. */
	calledAt: number;
}

export class OpenObjects {
	readonly #max: number;
	readonly #now: () => number;
	/** By class and name. The object whose last call is the oldest is first. */
	readonly #open = new Map<string, OpenObject>();
	readonly #count: SharedCount;

	/** `max` infinite: the platform has no limit of files, so nothing is counted. */
	constructor({ max, now }: { max: number; now(): number }) {
		this.#max = max;
		this.#now = now;
		this.#count = new SharedCount({ name: "objects", title: "open objects", max });
	}

	/** Records a call, unless it would open one object too many: then returns false. `object`: its class and name. */
	mayCall(object: string, account: string): boolean {
		if (this.#max === Number.POSITIVE_INFINITY) return true;
		this.#close();
		if (!this.#open.delete(object) && !this.#count.tryTake(account)) return false;
		this.#open.set(object, { account, calledAt: this.#now() });
		return true;
	}

	/** As {@link mayCall}. Throws 3040 (429) instead. */
	requireCall(object: string, account: string): void {
		if (!this.mayCall(object, account)) throw tooManyObjects();
	}

	/** Records a call that is made in any case. */
	recordCall(object: string, account: string): void {
		if (this.#max === Number.POSITIVE_INFINITY) return;
		if (!this.#open.delete(object)) this.#count.add(account);
		this.#open.set(object, { account, calledAt: this.#now() });
	}

	/** Whether a report about many accounts may call the object. */
	mayReport(object: string): boolean {
		this.#close();
		return this.#open.has(object) || this.#open.size < this.#max * (1 - FREE_FOR_REQUESTS);
	}

	report(): CountReport {
		this.#close();
		return this.#count.report();
	}

	#close(): void {
		const now = this.#now();
		for (const [object, { account, calledAt }] of this.#open) {
			if (!hasPassed(OPEN_MS, calledAt, now)) break;
			this.#open.delete(object);
			this.#count.release(account);
		}
	}
}

const tooManyObjects = (): AiError =>
	new AiError(
		"outOfCapacity",
		"Capacity temporarily exceeded, please try again: the gateway's open objects are in use",
		{ retryAfter: BUSY_SECONDS },
	);
