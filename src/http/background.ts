/**
 * Background work of one isolate: requests that are not settled yet, and settlements that are being sent. Cloudflare keeps
 * a Worker alive until this work ends. A process that stops must wait for it (`surfaces/operations/drain.ts`).
 */
import { hasPassed } from "../core/elapsed.ts";
import type { RunningRequests } from "../core/running-requests.ts";

/** Work that ends may start other work shortly after: a request that ends starts the sending of its settlement. */
const QUIET_MS = 250;
const POLL_MS = 25;

interface BackgroundServices {
	now(): number;
	/** Rejects if the signal fires first. */
	wait(milliseconds: number, signal?: AbortSignal): Promise<void>;
	waitUntil(work: Promise<unknown>): void;
	/** Absent: requests are not counted. */
	runningRequests?: RunningRequests;
}

export class Background {
	readonly #services: BackgroundServices;
	#pending = 0;
	#closed = false;
	readonly #closers: (() => Promise<void>)[] = [];

	constructor(services: BackgroundServices) {
		this.#services = services;
	}

	/**
	 * Keeps the context of the current request alive until `work` ends. `account`: the work is a request of this account. Returns a promise if
	 * it must wait for a place. Rejects with 3040 if too many are under way, and with `aborted` if `work` ends first.
	 */
	readonly waitUntil = (work: Promise<unknown>, account?: string): Promise<void> | undefined => {
		const { runningRequests, wait, waitUntil } = this.#services;
		const place = account === undefined ? undefined : runningRequests?.begin(account, work, wait);
		waitUntil(work);
		this.#pending++;
		const end = (): void => {
			this.#pending--;
		};
		work.then(end, end);
		return place;
	};

	/** New requests must be refused. */
	get isClosed(): boolean {
		return this.#closed;
	}

	/** `work` runs when the gateway closes. */
	onClose(work: () => Promise<void>): void {
		this.#closers.push(work);
	}

	close(): void {
		this.#closed = true;
		for (const work of this.#closers) this.waitUntil(work());
	}

	/** Resolves when no work has been pending for `QUIET_MS`. */
	async whenIdle(): Promise<void> {
		const { now, wait } = this.#services;
		for (let since = now(); !hasPassed(QUIET_MS, since, now()); ) {
			await wait(POLL_MS);
			if (this.#pending > 0) since = now();
		}
	}
}
