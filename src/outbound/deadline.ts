/**
 * The time limits of one outgoing call. Also aborts its fetch when the caller disconnects: the runtime ignores the signal of an incoming
 * request that is given to `fetch`.
 *
 * Silence is limited only while a read of the upstream is pending (`expect` to `pause`): a slow reader is not a silent
 * upstream. One timer serves both limits and is set for the earlier one. `pause` does not clear it; when it fires early,
 * it is set again for the remaining time. So a stream needs one timer each `idleMs`, not one for each chunk.
 *
 * What arrived during a pause of the process is delivered before the timer fires (`startNativeTimer`). After a long pause there is also time for
 * what has not arrived: the network, or the upstream itself, may have paused too.
 */
import { AiError } from "../core/errors.ts";
import { type StartTimer, startNativeTimer, type Timer } from "../core/lazy-timer.ts";

/** The longest delay of `setTimeout`; a longer one fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;
/** A timer that is later than this fires after a pause of the process: a machine that slept, or had too little CPU. */
const LATE_MS = 100;
/** Time for what the upstream sent during the pause, or could not send. */
const CATCH_UP_MS = 500;

/** The call that a deadline limits. */
interface LimitedCall {
	/** Fires when the caller disconnects. */
	signal: AbortSignal;
	/** The limit of the complete call. */
	totalMs: number;
	now(): number;
	startTimer?: StartTimer | undefined;
	/** The failure of a read that took `limitMs`. */
	silent(limitMs: number): AiError;
	/** The failure of a call that took `totalMs`. */
	late(totalMs: number): AiError;
}

/** The time limits of one call, and the signal that ends it. The holder calls `close`. */
export class Deadline {
	/** For `fetch`. Its reason is the `AiError` that ended the call. */
	readonly signal: AbortSignal;
	readonly #call: LimitedCall;
	readonly #controller = new AbortController();
	readonly #startTimer: StartTimer;
	readonly #onCallerAbort = () => this.abort(new AiError("aborted"));
	/** Of the complete call. It is extended once. */
	#totalMs: number;
	#lastNow: number;
	#elapsedMs = 0;
	/** The pending read. */
	#expected: { limitMs: number; dueAt: number; extended?: true } | undefined;
	#timer: { running: Timer; dueAt: number } | undefined;
	/** Rejects the work that is under way. */
	#reject: ((reason: AiError) => void) | undefined;

	constructor(call: LimitedCall) {
		const { signal, startTimer = startNativeTimer } = call;
		this.#call = call;
		this.#totalMs = call.totalMs;
		this.#startTimer = startTimer;
		this.#lastNow = call.now();
		this.signal = this.#controller.signal;
		if (signal.aborted) this.#onCallerAbort();
		else signal.addEventListener("abort", this.#onCallerAbort);
	}

	/** Milliseconds since the start of the call. Never decreases, also if the clock is set back. */
	elapsedMs(): number {
		const time = this.#call.now();
		this.#elapsedMs += Math.max(0, time - this.#lastNow);
		this.#lastNow = time;
		return this.#elapsedMs;
	}

	/** A read of the upstream is pending. It may take `limitMs`, of which `silentMs` have passed. */
	expect(limitMs: number, silentMs = 0): void {
		const dueAt = this.elapsedMs() + limitMs - silentMs;
		this.#expected = { limitMs, dueAt };
		if (this.signal.aborted || (this.#timer && this.#timer.dueAt <= dueAt)) return;
		this.#clearTimer();
		this.#setTimer();
	}

	/** No read is pending: only the limit of the complete call applies. */
	pause(): void {
		this.#expected = undefined;
	}

	/**
	 * Settles as `work`, or rejects with the failure that ends the call earlier. It keeps one `reject`, because a listener on the signal costs
	 * more.
	 */
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

	/** Aborts the upstream's fetch. */
	abort(reason: AiError): void {
		this.close();
		this.#controller.abort(reason);
		this.#reject?.(reason);
	}

	/** Clears the timer and removes the listener on the caller's signal. The holder calls it when the call is over. */
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
		const { silent, late, totalMs } = this.#call;
		if (this.#elapsedMs - atLeastMs > LATE_MS) this.#extend(this.#elapsedMs);
		const expected = this.#expected;
		const isSilent = expected && this.#elapsedMs >= expected.dueAt;
		if (isSilent && expected.dueAt < this.#totalMs) this.abort(silent(expected.limitMs));
		else if (this.#elapsedMs >= this.#totalMs) this.abort(late(totalMs));
		else this.#setTimer();
	}

	/** The process was paused: a limit that has passed meanwhile is extended once, for a read of the upstream. */
	#extend(elapsedMs: number): void {
		const { totalMs } = this.#call;
		const expected = this.#expected;
		const extended = (limitMs: number): number => elapsedMs + Math.min(limitMs, CATCH_UP_MS);
		if (expected && !expected.extended && elapsedMs >= expected.dueAt) {
			expected.extended = true;
			expected.dueAt = extended(expected.limitMs);
		}
		if (this.#totalMs === totalMs && elapsedMs >= totalMs) this.#totalMs = extended(totalMs);
	}
}
