/**
 * The time limits of one upstream call. Also aborts the upstream's fetch when the caller disconnects.
 *
 * Silence is limited only while a read of the upstream is pending (`expect` to `pause`): a slow reader is not a silent
 * upstream. One timer serves both limits and is set for the earlier one. `pause` does not clear it; when it fires early,
 * it is set again for the remaining time. So a stream needs one timer each `idleMs`, not one for each chunk.
 *
 * A process that paused for longer than a limit finds its timer before what the upstream has sent. It reads that first.
 */
import { AiError } from "../../core/errors.ts";
import { type StartTimer, startNativeTimer, type Timer } from "../../core/lazy-timer.ts";
import { type Call, failureOfTarget } from "./upstream-failure.ts";

/** The longest delay of `setTimeout`; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** A timer that is later than this fires after a pause of the process: a machine that slept, or had too little CPU. */
const LATE_MS = 100;
/** Time to read what the upstream sent during the pause. */
const CATCH_UP_MS = 500;

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
	const deadline = new CallDeadline(call);
	const { headerMs, totalMs } = call.target.timeouts;
	deadline.expect(answers === "stream" ? headerMs : totalMs);
	return deadline;
}

class CallDeadline implements Deadline {
	readonly signal: AbortSignal;
	readonly #call: Call;
	readonly #totalMs: number;
	readonly #controller = new AbortController();
	readonly #startTimer: StartTimer;
	readonly #onCallerAbort = () => this.abort(new AiError("aborted"));
	#lastNow: number;
	#elapsedMs = 0;
	/** The pending read. */
	#expected: { limitMs: number; dueAt: number; extended?: true } | undefined;
	#timer: { running: Timer; dueAt: number } | undefined;
	/** Rejects the work that is under way. */
	#reject: ((reason: AiError) => void) | undefined;

	constructor(call: Call) {
		const { services, signal, target } = call;
		this.#call = call;
		this.#totalMs = target.timeouts.totalMs;
		this.#startTimer = services.startTimer ?? startNativeTimer;
		this.#lastNow = services.now();
		this.signal = this.#controller.signal;
		if (signal.aborted) this.#onCallerAbort();
		else signal.addEventListener("abort", this.#onCallerAbort);
	}

	elapsedMs(): number {
		const time = this.#call.services.now();
		this.#elapsedMs += Math.max(0, time - this.#lastNow);
		this.#lastNow = time;
		return this.#elapsedMs;
	}

	expect(limitMs: number, silentMs = 0): void {
		const dueAt = this.elapsedMs() + limitMs - silentMs;
		this.#expected = { limitMs, dueAt };
		if (this.signal.aborted || (this.#timer && this.#timer.dueAt <= dueAt)) return;
		this.#clearTimer();
		this.#setTimer();
	}

	pause(): void {
		this.#expected = undefined;
	}

	/** Listening to the signal costs more. */
	race<T>(work: Promise<T>): Promise<T> {
		const { promise, resolve, reject } = Promise.withResolvers<T>();
		const rejectEarlier = this.#reject;
		this.#reject = (reason) => {
			rejectEarlier?.(reason);
			reject(reason);
		};
		if (this.signal.aborted) reject(this.signal.reason);
		work.then(resolve, reject);
		return promise;
	}

	abort(reason: AiError): void {
		this.close();
		this.#controller.abort(reason);
		this.#reject?.(reason);
	}

	close(): void {
		this.#clearTimer();
		this.#call.signal.removeEventListener("abort", this.#onCallerAbort);
	}

	#clearTimer(): void {
		this.#timer?.running.cancel();
		this.#timer = undefined;
	}

	#setTimer(): void {
		const dueAt = Math.min(this.#expected?.dueAt ?? this.#totalMs, this.#totalMs);
		const from = this.elapsedMs();
		const delayMs = Math.min(dueAt - from, MAX_TIMER_MS);
		this.#timer = { running: this.#startTimer(delayMs, () => this.#onTimer(from + delayMs)), dueAt };
	}

	/** The timer proves that the call has taken `atLeastMs`, whatever the clock shows. */
	#onTimer(atLeastMs: number): void {
		this.#timer = undefined;
		this.#elapsedMs = Math.max(this.elapsedMs(), atLeastMs);
		const { target } = this.#call;
		const expected = this.#expected;
		const isDue = expected && this.#elapsedMs >= expected.dueAt;
		if (isDue && !expected.extended && this.#elapsedMs - atLeastMs > LATE_MS) {
			expected.extended = true;
			expected.dueAt = this.#elapsedMs + Math.min(expected.limitMs, CATCH_UP_MS);
		}
		if (isDue && expected.dueAt < this.#totalMs && this.#elapsedMs >= expected.dueAt)
			this.abort(failureOfTarget(target, "timeout", `was silent for ${expected.limitMs} ms`));
		else if (this.#elapsedMs >= this.#totalMs)
			this.abort(failureOfTarget(target, "modelTimeout", `took longer than ${this.#totalMs} ms`));
		else this.#setTimer();
	}
}
