/**
 * The contract of durable work. A room enqueues items, and registers a handler for their kind (`src/work-handlers.ts`).
 *
 * Each item runs at least once: a process that is killed leaves the item in the queue, and its next run has a larger fence. A room
 * commits the result of an item in an object of its own, which refuses a result with a smaller fence than the last one that
 * it has seen, and a second result. So the result, and a record of its cost in the same commit, exist once.
 */

export interface WorkId {
	account: string;
	/** The name of the handler. */
	kind: string;
	/** Unique among the items of the account and kind that are not complete. */
	key: string;
}

export interface NewWork extends WorkId {
	/** JSON. For large data, the key of a stored object. */
	payload?: unknown;
	/** Epoch milliseconds. Absent: at once. */
	startAt?: number;
}

export type WorkState = "queued" | "running" | "dead";

export interface WorkStatus extends WorkId {
	state: WorkState;
	createdAt: number;
	/** Of a queued item: not before. Epoch milliseconds. */
	startAt: number;
	/** Runs that have failed. */
	attempts: number;
	/** Runs that ended with their process. */
	interruptions: number;
	/** The last value that a run has reported. JSON. */
	progress?: unknown;
	/** Why the last run failed. Contains no secret and nothing of a prompt. */
	error?: string;
	/** A run is ending because the item was cancelled. */
	cancelled?: true;
}

/** One run of an item. */
export interface WorkRun extends WorkId {
	payload: unknown;
	/** Counted from 1. */
	attempt: number;
	/** Larger than in every earlier run, of all items. */
	fence: number;
	/** Fires when the item is cancelled, or its time is over. */
	signal: AbortSignal;
	/** Reports a JSON value. It is durable within a second, or lost with the process. */
	progress(value: unknown): void;
}

export interface WorkHandler {
	/** Resolves: the item is complete, and leaves the queue. Rejects: it runs again later, or fails. */
	run(run: WorkRun): Promise<void>;
	/** The last attempt has failed. Afterwards the item is dead. Rejects: it is called again later. */
	failed?(run: WorkRun, error: string): Promise<void>;
	/** Default: 5. */
	maxAttempts?: number;
	/** Of one run. Default: 15 minutes. */
	timeoutMs?: number;
}

/** A handler throws it if another attempt cannot succeed. `message`: contains no secret and nothing of a prompt. */
export class PermanentWorkError extends Error {
	override readonly name = "PermanentWorkError";
}

/** A handler throws it if the item must wait, for example for a rate limit. It does not count as an attempt. */
export class PostponedWork extends Error {
	override readonly name = "PostponedWork";
	readonly milliseconds: number;

	constructor(milliseconds: number) {
		super("The work is postponed");
		this.milliseconds = milliseconds;
	}
}

export interface WorkPage {
	items: WorkStatus[];
	/** For the next page. Absent on the last one. */
	after?: number;
}

export interface WorkQuery {
	account: string;
	kind?: string;
	state?: WorkState;
	after?: number;
	/** 1 to 1000. Default: 100. */
	limit?: number;
}

/** The queue. Failures: `storageFull`, `storageUnavailable`. */
export interface Queue {
	/**
	 * Adds items; one that exists already stays as it is. All or none. `freesSpace`: a full disk does not refuse them. @returns how many
	 * are new.
	 */
	enqueue(items: NewWork | readonly NewWork[], options?: { freesSpace: boolean }): Promise<number>;
	/** Removes an item. A run of it gets its signal. @returns the state that it had. */
	cancel(id: WorkId): Promise<WorkState | undefined>;
	/** Removes all items of the kind whose keys start with the prefix. @returns their number. */
	cancelPrefix(id: { account: string; kind: string; prefix: string }): Promise<number>;
	/** `undefined`: complete, cancelled, or never enqueued. */
	status(id: WorkId): Promise<WorkStatus | undefined>;
	list(query: WorkQuery): Promise<WorkPage>;
	/** Enqueues a dead item again, with all its attempts. @returns whether it was dead. */
	revive(id: WorkId): Promise<boolean>;
}
