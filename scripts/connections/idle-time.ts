/**
 * When the runtime should collect its garbage. V8 collects while it allocates, so a process that has become idle would keep the garbage of its
 * last load, and its memory, until the next one.
 */

/** Requests in one interval of an idle process: health checks, and readers of the metrics. */
const IDLE_REQUESTS = 20;
/** Fewer leave little garbage. */
const BUSY_REQUESTS = 200;
/** Idle intervals after the first collection. Durable work, and objects without calls, end after the requests. */
const AGAIN_AFTER: ReadonlySet<number> = new Set([2, 4, 8, 12]);

export class IdleTime {
	#latest = 0;
	/** At the last collection. */
	#collected = 0;
	/** Idle intervals since then. */
	#since = Number.POSITIVE_INFINITY;

	/** Called at the end of each interval. `requests`: since the start. `underWay`: connections with a request. */
	isCollectionDue({ requests, underWay }: { requests: number; underWay: number }): boolean {
		const isIdle = underWay === 0 && requests - this.#latest <= IDLE_REQUESTS;
		this.#latest = requests;
		if (!isIdle) return false;
		if (requests - this.#collected < BUSY_REQUESTS) return AGAIN_AFTER.has(++this.#since);
		this.#collected = requests;
		this.#since = 0;
		return true;
	}
}
