/**
 * The time limits of one upstream call. Also aborts the upstream's fetch when the caller disconnects.
 *
 * Silence is limited only while a read of the upstream is pending (`expect` to `pause`): a slow reader is not a silent
 * upstream. One timer serves both limits and is set for the earlier one. `pause` does not clear it; when it fires early,
 * it is set again for the remaining time. So a stream needs one timer each `idleMs`, not one for each chunk.
 */
import { AiError } from "../../core/errors.ts";
import { startNativeTimer, type Timer } from "../../core/lazy-timer.ts";
import { type Call, failureOfTarget } from "./upstream-failure.ts";

/** The longest delay of `setTimeout`; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Deadline {
	/** For `fetch`. Its reason is the `AiError` that ended the call. */
	readonly signal: AbortSignal;
	/** Milliseconds since the start of the call. Never decreases, also if the clock is set back. */
	elapsedMs(): number;
	/** A read of the upstream is pending. It may take `limitMs`, of which `silentMs` have passed. */
	expect(limitMs: number, silentMs?: number): void;
	/** No read is pending: only the limit of the complete call applies. */
	pause(): void;
	/** Settles as `work`, or rejects with the failure that ends the call earlier. Called a few times per call. */
	race<T>(work: Promise<T>): Promise<T>;
	/** Aborts the upstream's fetch. */
	abort(reason: AiError): void;
	/** Clears the timer and removes the listener on the caller's signal. The holder calls it when the call is over. */
	close(): void;
}

/**
 * Starts with the wait for the header. A complete answer has its header only when it has been generated: there the limit
 * of the complete call alone applies.
 */
export function startDeadline(call: Call, answers: "complete" | "stream" = "stream"): Deadline {
	const { target, signal: caller } = call;
	const { now, startTimer = startNativeTimer } = call.services;
	const { totalMs } = target.timeouts;
	const controller = new AbortController();
	const { signal } = controller;
	let lastNow = now();
	let elapsed = 0;
	/** The pending read. */
	let expected: { limitMs: number; dueAt: number } | undefined;
	let timer: { running: Timer; dueAt: number } | undefined;
	/** Rejects when the call is aborted. Created by the first `race`. Listening to the signal costs more. */
	let aborted: Promise<never> | undefined;
	let rejectAborted: (reason: AiError) => void = () => {};

	const elapsedMs = (): number => {
		const time = now();
		elapsed += Math.max(0, time - lastNow);
		lastNow = time;
		return elapsed;
	};
	const clearTimer = () => {
		timer?.running.cancel();
		timer = undefined;
	};
	const close = () => {
		clearTimer();
		caller.removeEventListener("abort", onCallerAbort);
	};
	const abort = (reason: AiError) => {
		close();
		controller.abort(reason);
		rejectAborted(reason);
	};
	const onCallerAbort = () => abort(new AiError("aborted"));
	const setTimer = () => {
		const dueAt = Math.min(expected?.dueAt ?? totalMs, totalMs);
		const from = elapsedMs();
		const delayMs = Math.min(dueAt - from, MAX_TIMER_MS);
		const onTimer = () => {
			timer = undefined;
			// The timer proves that this time has passed, whatever the clock shows.
			elapsed = Math.max(elapsedMs(), from + delayMs);
			if (expected && expected.dueAt < totalMs && elapsed >= expected.dueAt)
				return abort(failureOfTarget(target, "timeout", `was silent for ${expected.limitMs} ms`));
			if (elapsed >= totalMs)
				return abort(failureOfTarget(target, "modelTimeout", `took longer than ${totalMs} ms`));
			setTimer();
		};
		timer = { running: startTimer(delayMs, onTimer), dueAt };
	};
	const expect = (limitMs: number, silentMs = 0) => {
		const dueAt = elapsedMs() + limitMs - silentMs;
		expected = { limitMs, dueAt };
		if (signal.aborted || (timer && timer.dueAt <= dueAt)) return;
		clearTimer();
		setTimer();
	};

	if (caller.aborted) onCallerAbort();
	else caller.addEventListener("abort", onCallerAbort);
	expect(answers === "stream" ? target.timeouts.headerMs : totalMs);

	return {
		signal,
		elapsedMs,
		expect,
		pause() {
			expected = undefined;
		},
		race(work) {
			aborted ??= new Promise((_, reject) => {
				if (signal.aborted) reject(signal.reason);
				else rejectAborted = reject;
			});
			return Promise.race([work, aborted]);
		},
		abort,
		close,
	};
}
