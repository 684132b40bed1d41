/** The requests that a gateway holds when its callers have left, in the text of its metrics. */

/** A run of durable work, such as a line of a batch or a response in the background, is a request too, and goes on. */
const RUNNING_WORK = /^ganglion_work_items\{[^}]*state="running"[^}]*\} ([1-9]\d*)/m;
const HELD_REQUESTS = /^ganglion_held\{[^}]*class="requests"[^}]*\} (\d+)/m;

/** Requests under way, if no durable work is: they were never released. `NaN`: the page has no such count. */
export const unreleasedRequests = (page: string): number =>
	RUNNING_WORK.test(page) ? 0 : Number(HELD_REQUESTS.exec(page)?.[1]);
