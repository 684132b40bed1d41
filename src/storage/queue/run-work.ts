/** One run of an item: calls its handler, bounds its time, and reports how it has ended. Never rejects. */
import { AiError } from "../../core/errors.ts";
import { DEFAULT_ATTEMPTS, type WorkOutcome } from "./retry.ts";
import { PermanentWorkError, PostponedWork, type WorkHandler, type WorkRun } from "./work.ts";
import type { WorkRow } from "./work-table.ts";

const DEFAULT_TIMEOUT_MS = 15 * 60_000;
/** A run that its signal does not end is given up after this time. Its result has an old fence then. */
const ABORT_GRACE_MS = 10_000;

export interface RunOptions {
	fence: number;
	abort: AbortController;
	handler(): Promise<WorkHandler | undefined>;
	progress(value: unknown): void;
}

export async function runWork(row: WorkRow, options: RunOptions): Promise<WorkOutcome> {
	const { account, kind, key, payload } = row;
	const run: WorkRun = {
		account,
		kind,
		key,
		payload: payload === null ? undefined : (JSON.parse(payload) as unknown),
		attempt: row.attempts + 1,
		fence: options.fence,
		signal: options.abort.signal,
		progress: options.progress,
	};
	let handler: WorkHandler | undefined;
	try {
		handler = await options.handler();
		if (!handler) throw new Error(`no handler is registered for ${kind}`);
		const registered = handler;
		if (row.failedRuns === null) await bounded(() => registered.run(run), registered, options.abort);
	} catch (thrown) {
		if (thrown instanceof PostponedWork) return { kind: "postponed", milliseconds: thrown.milliseconds };
		const error = describe(thrown);
		const isLast = row.attempts + 1 >= (handler?.maxAttempts ?? DEFAULT_ATTEMPTS);
		if (!isLast && !(thrown instanceof PermanentWorkError)) {
			const retryAfterMs = thrown instanceof AiError ? (thrown.retryAfter ?? 0) * 1_000 : 0;
			return { kind: "failed", error, retryAfterMs };
		}
		return fail(run, handler, error, options.abort);
	}
	return row.failedRuns === null ? { kind: "complete" } : fail(run, handler, row.error ?? "", options.abort);
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
	const timeout = setTimeout(
		() => abort.abort(new Error(`The work took longer than ${timeoutMs} ms`)),
		timeoutMs,
	);
	let grace: ReturnType<typeof setTimeout> | undefined;
	const onAbort = (): void => {
		grace = setTimeout(() => reject(abort.signal.reason), ABORT_GRACE_MS);
	};
	abort.signal.addEventListener("abort", onAbort);
	if (abort.signal.aborted) onAbort();
	try {
		await Promise.race([call(), late]);
	} finally {
		clearTimeout(timeout);
		clearTimeout(grace);
		abort.signal.removeEventListener("abort", onAbort);
	}
}

/** Messages of foreign errors may quote prompts or keys. */
function describe(thrown: unknown): string {
	if (thrown instanceof AiError) return `${thrown.code}: ${thrown.description}`;
	if (thrown instanceof PermanentWorkError) return thrown.message;
	return thrown instanceof Error ? thrown.name : "Error";
}
