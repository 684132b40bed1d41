/**
 * The clock over one upstream call, and the wire from the caller's leaving to the upstream's fetch.
 *
 * Time is counted against the upstream only while it is its turn (`expect` to `rest`): a slow reader is not a silent
 * upstream. The timer of a turn is not cleared with the turn but, when it rings, set again for what is left of a later
 * one: a stream has a turn for each chunk, and needs one timer for each `idleMs`.
 */
import { AiError } from "../errors.ts";
import type { Target, World } from "./backend.ts";
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
	/** `work`, or the failure that ends the call before it. A few times a call: each leaves a listener behind. */
	race<T>(work: Promise<T>): Promise<T>;
	/** Ends the upstream's fetch. */
	abort(reason: AiError): void;
	/** Stops the clock and lets go of the caller's signal. Whoever holds the deadline calls it once the call is over. */
	close(): void;
}

/** Starts with the upstream's turn, for its header. */
export function startDeadline(target: Target, now: World["now"], caller: AbortSignal): Deadline {
	const { headerMs, totalMs } = target.timeouts;
	const controller = new AbortController();
	const { signal } = controller;
	let limitMs = headerMs;
	/** Counts the upstream's turns; `undefined` between them. */
	let expected: { turn: number; since: number } | undefined;
	let turns = 0;
	let turnTimer: ReturnType<typeof setTimeout> | undefined;

	const close = () => {
		clearTimeout(turnTimer);
		clearTimeout(totalTimer);
		caller.removeEventListener("abort", leave);
	};
	const abort = (reason: AiError) => {
		close();
		controller.abort(reason);
	};
	const leave = () => abort(new AiError("aborted"));
	const arm = (armedFor: number, ms: number) => {
		const ring = () => {
			turnTimer = undefined;
			if (expected === undefined) return;
			const leftMs = expected.turn === armedFor ? 0 : expected.since + limitMs - now();
			if (leftMs > 0) return arm(expected.turn, leftMs);
			abort(failureOfTarget(target, "timeout", `was silent for ${limitMs} ms`));
		};
		turnTimer = setTimeout(ring, Math.min(ms, MAX_TIMER_MS));
	};
	const expect = (ms: number) => {
		expected = { turn: ++turns, since: now() };
		if (ms !== limitMs) {
			limitMs = ms;
			clearTimeout(turnTimer);
			turnTimer = undefined;
		}
		if (turnTimer === undefined && !signal.aborted) arm(turns, ms);
	};

	const totalTimer = setTimeout(
		() => abort(failureOfTarget(target, "modelTimeout", `took longer than ${totalMs} ms`)),
		Math.min(totalMs, MAX_TIMER_MS),
	);
	if (caller.aborted) leave();
	else caller.addEventListener("abort", leave);
	expect(headerMs);

	return {
		signal,
		expect,
		rest() {
			expected = undefined;
		},
		race: (work) =>
			Promise.race([
				work,
				new Promise<never>((_, reject) => {
					if (signal.aborted) reject(signal.reason);
					else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
				}),
			]),
		abort,
		close,
	};
}
