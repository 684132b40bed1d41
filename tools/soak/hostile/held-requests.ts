/** The requests that a gateway holds when its callers have left, in the text of its metrics. */

/** A run of durable work, such as a line of a batch or a response in the background, is a request too, and goes on. */
const RUNNING_WORK = /^ganglion_work_items\{[^}]*state="running"[^}]*\} (\d+)/gm;
const HELD_REQUESTS = /^ganglion_held\{[^}]*class="requests"[^}]*\} (\d+)/m;

/** Requests that are counted beyond those of durable work: they were never released. `NaN`: the page has no such count. */
export function unreleasedRequests(page: string): number {
	const running = [...page.matchAll(RUNNING_WORK)].reduce((sum, [, items]) => sum + Number(items), 0);
	return Math.max(0, Number(HELD_REQUESTS.exec(page)?.[1]) - running);
}
