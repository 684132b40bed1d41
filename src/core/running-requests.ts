/**
 * The count of requests under way that run a model or a provider, also after their callers have left. Each may hold files and memory until its
 * end, so a process has a maximum, and each account a share of it.
 *
 * A tenth of the places is for accounts that have none under way.
 *
 * A request without a place waits for up to two seconds: after a pause of the process, or a burst, many begin at once and end soon. A place
 * that becomes free goes to the account with the fewest places, and there to the request that has waited longest. The caller of a waiting
 * request has been verified, and its body has been read.
 */
import { AiError } from "./errors.ts";
import { FairShares } from "./fair-shares.ts";
import { settledElsewhere } from "./settled-elsewhere.ts";
import type { CountReport } from "./shared-count.ts";

const FREE_FOR_NEW_ACCOUNTS = 0.1;
const BUSY_SECONDS = 2;
/** The longest wait for a place. */
const WAIT_MS = 2_000;
/** Requests that wait at the same time. */
const MAX_WAITING = 256;

interface WaitingRequest {
	account: string;
	hasPlace: boolean;
	hasEnded: boolean;
	/** Resolves when it has a place, and when it no longer waits for one. */
	decided: PromiseWithResolvers<void>;
}

/** Resolves after the time; rejects if the signal fires first. */
type Wait = (milliseconds: number, signal: AbortSignal) => Promise<void>;

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

	/**
	 * Counts the request until `ended` settles. `undefined`: it has a place. Otherwise resolves when it has one. Rejects with 3040 (429) if the
	 * account or the process has too many, and with `aborted` if `ended` settles first.
	 */
	begin(account: string, ended: Promise<unknown>, wait: Wait): Promise<void> | undefined {
		const isFirst = !this.#waiting.some((other) => other.account === account);
		if (!isFirst || !this.#shares.mayTake(account)) return this.#wait(account, ended, wait);
		this.#shares.take(account);
		const end = (): void => this.#end(account);
		ended.then(end, end);
		return undefined;
	}

	report(): CountReport {
		return { name: "requests", used: this.#shares.size, limit: this.#shares.max, refused: this.#refused };
	}

	async #wait(account: string, ended: Promise<unknown>, wait: Wait): Promise<void> {
		if (this.#waiting.length >= MAX_WAITING && !this.#makeRoom(account)) throw this.#refusal();
		const request: WaitingRequest = {
			account,
			hasPlace: false,
			hasEnded: false,
			decided: settledElsewhere(),
		};
		this.#waiting.push(request);
		const end = (): void => {
			request.hasEnded = true;
			this.#remove(request);
			if (request.hasPlace) this.#end(account);
		};
		ended.then(end, end);
		const timer = new AbortController();
		await Promise.race([request.decided.promise, wait(WAIT_MS, timer.signal).catch(() => {})]);
		timer.abort();
		if (request.hasPlace) return;
		this.#remove(request);
		throw request.hasEnded ? new AiError("aborted") : this.#refusal();
	}

	/** Refuses the latest request of the account that has the most waiting ones. Returns false if that is this account. */
	#makeRoom(account: string): boolean {
		const counts = new Map<string, number>([[account, 1]]);
		for (const other of this.#waiting) counts.set(other.account, (counts.get(other.account) ?? 0) + 1);
		const [most = account] = [...counts].reduce((a, b) => (b[1] > a[1] ? b : a));
		const latest = this.#waiting.findLast((other) => other.account === most);
		if (most === account || !latest) return false;
		this.#remove(latest);
		return true;
	}

	#end(account: string): void {
		this.#shares.release(account);
		if (this.#waiting.length === 0) return;
		for (let next = this.#next(); next; next = this.#next()) {
			this.#shares.take(next.account);
			next.hasPlace = true;
			this.#remove(next);
		}
	}

	/** The waiting request that may begin first. */
	#next(): WaitingRequest | undefined {
		let next: WaitingRequest | undefined;
		const seen = new Set<string>();
		for (const request of this.#waiting) {
			if (seen.has(request.account)) continue;
			seen.add(request.account);
			const isLess = !next || this.#shares.count(request.account) < this.#shares.count(next.account);
			if (isLess && this.#shares.mayTake(request.account)) next = request;
		}
		return next;
	}

	#remove(request: WaitingRequest): void {
		this.#waiting = this.#waiting.filter((other) => other !== request);
		request.decided.resolve();
	}

	#refusal(): AiError {
		this.#refused++;
		return new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
	}
}
