/**
 * The clock over one upstream call, and the wire from the caller's leaving to the upstream's fetch.
 *
 * Time is counted against the upstream only while it is its turn (`expect` to `rest`): a slow reader is not a silent
 * upstream. There is one timer, for whichever ends first, the turn or the whole call. It is not cleared with the turn
 * but, when it rings, set again for what is left: a stream has a turn for each chunk, and needs a timer each `idleMs`.
 */
import { AiError } from "../../core/errors.ts";
import type { Target, World } from "../backend.ts";
import { failureOfTarget } from "./upstream-failure.ts";

/** What `setTimeout` can count to; beyond it, it rings at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface Deadline {
	/** For `fetch`. Its reason is the `AiError` that ended the call. */
	readonly signal: AbortSignal;
	/** It is the upstream's turn: it has `limitMs` from now. */
	expect(limitMs: number): void;
	/** It is not: only the time of the whole call runs. */
	rest(): void;
	/** `work`, or the failure that ends the call before it. A few times a call. */
	race<T>(work: Promise<T>): Promise<T>;
	/** Ends the upstream's fetch. */
	abort(reason: AiError): void;
	/** Stops the clock and lets go of the caller's signal. Whoever holds the deadline calls it once the call is over. */
	close(): void;
}

/**
 * Starts with the upstream's turn, for its header. A whole answer has its header when it is made: then only the time of
 * the whole call ends the wait.
 */
export function startDeadline(
	target: Target,
	now: World["now"],
	caller: AbortSignal,
	answers: "whole" | "stream" = "stream",
): Deadline {
	const { totalMs } = target.timeouts;
	const headerMs = answers === "stream" ? target.timeouts.headerMs : totalMs;
	const controller = new AbortController();
	const { signal } = controller;
	const callEndsAt = now() + totalMs;
	/** The upstream's turn. */
	let expected: { limitMs: number; endsAt: number } | undefined;
	let timer: { handle: ReturnType<typeof setTimeout>; ringsAt: number } | undefined;
	/** Rejects when the call is ended; made when somebody waits for it. Without a listener, which costs more. */
	let ended: Promise<never> | undefined;
	let end: (reason: AiError) => void = () => {};

	const stopTimer = () => {
		clearTimeout(timer?.handle);
		timer = undefined;
	};
	const close = () => {
		stopTimer();
		caller.removeEventListener("abort", leave);
	};
	const abort = (reason: AiError) => {
		close();
		controller.abort(reason);
		end(reason);
	};
	const leave = () => abort(new AiError("aborted"));
	const arm = () => {
		const armedFor = expected && expected.endsAt < callEndsAt ? expected : "call";
		const ringsAt = armedFor === "call" ? callEndsAt : armedFor.endsAt;
		const ms = ringsAt - now();
		const ring = () => {
			timer = undefined;
			if (ms > MAX_TIMER_MS) return arm();
			if (armedFor === "call")
				return abort(failureOfTarget(target, "modelTimeout", `took longer than ${totalMs} ms`));
			if (expected && (expected === armedFor || now() >= expected.endsAt))
				return abort(failureOfTarget(target, "timeout", `was silent for ${expected.limitMs} ms`));
			arm();
		};
		timer = { handle: setTimeout(ring, Math.min(ms, MAX_TIMER_MS)), ringsAt };
	};
	const expect = (limitMs: number) => {
		const endsAt = now() + limitMs;
		expected = { limitMs, endsAt };
		if (signal.aborted || (timer && timer.ringsAt <= endsAt)) return;
		stopTimer();
		arm();
	};

	if (caller.aborted) leave();
	else caller.addEventListener("abort", leave);
	expect(headerMs);

	return {
		signal,
		expect,
		rest() {
			expected = undefined;
		},
		race(work) {
			ended ??= new Promise((_, reject) => {
				if (signal.aborted) reject(signal.reason);
				else end = reject;
			});
			return Promise.race([work, ended]);
		},
		abort,
		close,
	};
}
