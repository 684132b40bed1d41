/** One run of an item: calls its handler, bounds its time, and reports how it has ended. Never rejects. */
import { AiError } from "../../core/errors.ts";
import { startNativeTimer, type Timer } from "../../core/lazy-timer.ts";
import { DEFAULT_ATTEMPTS, type WorkOutcome } from "./retry.ts";
import { PermanentWorkError, PostponedWork, type WorkHandler, type WorkRun } from "./work.ts";
import type { WorkRow } from "./work-table.ts";

const DEFAULT_TIMEOUT_MS = 15 * 60_000;
/** A run that its signal does not end is given up after this time. Its result has an old fence then. */
const ABORT_GRACE_MS = 10_000;

/** What a run tells the queue, and the reverse. The queue's object has it, so each method is a call of the object. */
export interface RunControl {
	/** JSON. */
	progress(value: string): Promise<void>;
	/** Resolves when the item is cancelled, with true, or has ended. */
	cancelled(): Promise<boolean>;
}

/** The calls of the entrypoint `Work`. */
export interface WorkCalls {
	/** Rejects if the runtime has ended the request. */
	run(row: WorkRow, fence: number, control: RunControl): Promise<WorkOutcome>;
}

export interface RunOptions {
	fence: number;
	control: RunControl;
	handler(): Promise<WorkHandler | undefined>;
}

export async function runWork(row: WorkRow, { fence, control, handler }: RunOptions): Promise<WorkOutcome> {
	const abort = new AbortController();
	control.cancelled().then(
		(isCancelled) => isCancelled && abort.abort(new Error("The work was cancelled")),
		// The queue's object has restarted: this run has an old fence.
		abort.abort.bind(abort),
	);
	let reported: Promise<void> | undefined;
	const progress = (value: unknown): void => {
		reported = control.progress(JSON.stringify(value) ?? "null");
		// A value that is lost was not durable.
		reported.catch(() => {});
	};
	const { account, kind, key } = row;
	const run = { ...{ account, kind, key }, fence, progress, signal: abort.signal };
	const outcome = await callHandler(row, { run, handler, abort });
	// In the order of the calls.
	await Promise.allSettled([reported]);
	return outcome;
}

interface RunContext {
	run: Omit<WorkRun, "payload" | "attempt">;
	handler: RunOptions["handler"];
	abort: AbortController;
}

async function callHandler(
	row: WorkRow,
	{ run: common, handler: handlerOf, abort }: RunContext,
): Promise<WorkOutcome> {
	const { kind, payload } = row;
	const run: WorkRun = {
		...common,
		payload: payload === null ? undefined : (JSON.parse(payload) as unknown),
		attempt: row.attempts + 1,
	};
	let handler: WorkHandler | undefined;
	try {
		handler = await handlerOf();
		if (!handler) throw new Error(`no handler is registered for ${kind}`);
		const registered = handler;
		if (row.failedRuns === null) await bounded(() => registered.run(run), registered, abort);
	} catch (thrown) {
		if (thrown instanceof PostponedWork) return { kind: "postponed", milliseconds: thrown.milliseconds };
		const error = describe(thrown);
		const isLast = row.attempts + 1 >= (handler?.maxAttempts ?? DEFAULT_ATTEMPTS);
		if (!isLast && !(thrown instanceof PermanentWorkError)) {
			const retryAfterMs = thrown instanceof AiError ? (thrown.retryAfter ?? 0) * 1_000 : 0;
			return { kind: "failed", error, retryAfterMs };
		}
		return fail(run, handler, error, abort);
	}
	return row.failedRuns === null ? { kind: "complete" } : fail(run, handler, row.error ?? "", abort);
}

/** The last attempt has failed. */
async function fail(
	run: WorkRun,
	handler: WorkHandler | undefined,
	error: string,
	abort: AbortController,
): Promise<WorkOutcome> {
	try {
		const failed = handler?.failed?.bind(handler);
		if (handler && failed && !abort.signal.aborted) await bounded(() => failed(run, error), handler, abort);
		else if (failed) await failed(run, error);
		return { kind: "exhausted", error, failedCalled: true };
	} catch {
		return { kind: "exhausted", error, failedCalled: false };
	}
}

/** Fires the signal when the time is over. Rejects soon after the signal fires, also if the call goes on. */
async function bounded(
	call: () => Promise<void>,
	{ timeoutMs = DEFAULT_TIMEOUT_MS }: WorkHandler,
	abort: AbortController,
): Promise<void> {
	const { promise: late, reject } = Promise.withResolvers<never>();
	const timeout = startNativeTimer(timeoutMs, () =>
		abort.abort(new Error(`The work took longer than ${timeoutMs} ms`)),
	);
	let grace: Timer | undefined;
	const onAbort = (): void => {
		grace = startNativeTimer(ABORT_GRACE_MS, () => reject(abort.signal.reason));
	};
	abort.signal.addEventListener("abort", onAbort);
	if (abort.signal.aborted) onAbort();
	try {
		await Promise.race([call(), late]);
	} finally {
		timeout.cancel();
		grace?.cancel();
		abort.signal.removeEventListener("abort", onAbort);
	}
}

/** Messages of foreign errors may quote prompts or keys. */
function describe(thrown: unknown): string {
	if (thrown instanceof AiError) return `${thrown.code}: ${thrown.description}`;
	if (thrown instanceof PermanentWorkError) return thrown.message;
	return thrown instanceof Error ? thrown.name : "Error";
}
