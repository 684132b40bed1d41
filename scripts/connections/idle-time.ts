/**
 * When the runtime should collect its garbage. V8 collects while it allocates, so a process that has become idle would keep the garbage of its
 * last load, and its memory, until the next one.
 */

/** Requests in one interval of an idle process: health checks, and readers of the metrics. */
const IDLE_REQUESTS = 20;
/** Fewer leave little garbage. */
const BUSY_REQUESTS = 200;

export class IdleTime {
	#latest = 0;
	/** At the last collection. */
	#collected = 0;

	/** Called at the end of each interval. `requests`: since the start. `underWay`: connections with a request. */
	isCollectionDue({ requests, underWay }: { requests: number; underWay: number }): boolean {
		const isIdle = underWay === 0 && requests - this.#latest <= IDLE_REQUESTS;
		this.#latest = requests;
		if (!isIdle || requests - this.#collected < BUSY_REQUESTS) return false;
		this.#collected = requests;
		return true;
	}
}
