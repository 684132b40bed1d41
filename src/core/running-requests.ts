/**
 * The count of requests under way that run a model or a provider, also after their callers have left. Each may hold files and memory until its
 * end, so a process has a maximum, and each account a share of it. A request without a place waits for one ({@link FairLine}). The caller of a
 * waiting request has been verified, and its body has been read.
 */
import { AiError } from "./errors.ts";
import { FairLine, type Turn, type WaitInLine } from "./fair-line.ts";
import type { CountReport } from "./shared-count.ts";

const BUSY_SECONDS = 2;

export class RunningRequests {
	readonly #line: FairLine;

	/** `max` infinite: nothing is refused. `now`: milliseconds. */
	constructor(max: number, now: () => number) {
		this.#line = new FairLine({ name: "requests", max, now });
	}

	get size(): number {
		return this.#line.size;
	}

	/**
	 * Counts the request until `ended` settles. `undefined`: it has a place. Otherwise resolves when it has one. Rejects with 3040 (429) if the
	 * account or the process has too many, and with `aborted` if `ended` settles first.
	 */
	begin(account: string, ended: Promise<unknown>, wait: WaitInLine): Promise<void> | undefined {
		const turn = this.#line.enter(account);
		const end = (): void => this.#line.leave(turn);
		ended.then(end, end);
		return turn.state === "placed" ? undefined : this.#wait(turn, wait);
	}

	report(): CountReport {
		return this.#line.report();
	}

	async #wait(turn: Turn, wait: WaitInLine): Promise<void> {
		await this.#line.placed(turn, wait);
		if (turn.state === "left") throw new AiError("aborted");
		if (turn.state === "refused") throw new AiError("outOfCapacity", undefined, { retryAfter: BUSY_SECONDS });
	}
}
