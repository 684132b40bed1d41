/**
 * Timers for long limits, which requests rarely reach. To set and clear a native timer costs about 3% of a small request, so one is
 * created only for a limit that is still pending at the next sweep.
 *
 * One sweep serves all limits of the isolate. Its timer belongs to the request that started it, whose context stays alive until
 * then. A native timer must belong to the request that it limits, so the sweep resolves a promise of each pending limit: the
 * runtime continues it in the context of its own request. If the runtime ends the context of a sweep early, the next limit
 * starts another sweep.
 */
import { hasPassed } from "./elapsed.ts";
import { settledElsewhere } from "./settled-elsewhere.ts";

const SWEEP_MS = 1_000;
/** A sweep of this age is considered lost. */
const LOST_AFTER_MS = 2 * SWEEP_MS;
/** Shorter limits have a native timer from the start. The limit of a small body (`SMALL_BODY_MS` in `http/body.ts`) may not be shorter. */
const MIN_LAZY_MS = 10_000;

export interface Timer {
	cancel(): void;
}

/**
 * Calls `onTime` after `milliseconds`, in the context of the request that starts the timer. `left`: aborted when its caller leaves. Then the timer
 * ends, because the context may end before the holder cancels it: in that of a caller who has left, no code continues after an `await`.
 * Absent: the holder itself cancels the timer when the caller leaves.
 */
export type StartTimer = (milliseconds: number, onTime: () => void, left?: AbortSignal) => Timer;

/**
 * A process that has paused finds its timers before what arrived meanwhile: the runtime runs a due timer before it delivers bytes that wait in a
 * socket, however short the pause was. So the last milliseconds are turns of its loop, which deliver them. After a pause the header of an answer
 * took two turns, and a complete answer three.
 */
const LAST_TURNS = 5;
const TURN_MS = 1;

/** A limit for something that another side sends: what arrived before it, also during a pause of the process, is delivered before `onTime`. */
export const startNativeTimer: StartTimer = (milliseconds, onTime) => {
	let turns = LAST_TURNS;
	const onTurn = (): void => {
		if (turns-- === 0) onTime();
		else handle = setTimeout(onTurn, TURN_MS);
	};
	let handle = setTimeout(onTurn, Math.max(0, milliseconds - LAST_TURNS * TURN_MS));
	return { cancel: () => clearTimeout(handle) };
};

interface LazyTimerServices {
	/** Keeps the context of the current request alive. Throws if no request is running. */
	keepAlive(promise: Promise<unknown>): void;
	now(): number;
}

export class LazyTimers {
	readonly #services: LazyTimerServices;
	readonly #pending = new Set<LazyTimer>();
	#sweepStartedAt = Number.NEGATIVE_INFINITY;

	constructor(services: LazyTimerServices) {
		this.#services = services;
	}

	readonly start: StartTimer = (milliseconds, onTime, left) => {
		if (milliseconds < MIN_LAZY_MS || !this.#ensureSweep()) return startNativeTimer(milliseconds, onTime);
		const timer = new LazyTimer(milliseconds, onTime, {
			pending: this.#pending,
			now: this.#services.now,
			left,
		});
		this.#pending.add(timer);
		return timer;
	};

	/** `false` if no request is running. */
	#ensureSweep(): boolean {
		const { keepAlive, now } = this.#services;
		if (!hasPassed(LOST_AFTER_MS, this.#sweepStartedAt, now())) return true;
		const ended = Promise.withResolvers<void>();
		try {
			keepAlive(ended.promise);
		} catch {
			return false;
		}
		this.#sweepStartedAt = now();
		setTimeout(() => {
			this.#sweepStartedAt = Number.NEGATIVE_INFINITY;
			for (const timer of this.#pending) timer.makeNative();
			this.#pending.clear();
			ended.resolve();
		}, SWEEP_MS);
		return true;
	}
}

interface LazyTimerOptions {
	pending: Set<LazyTimer>;
	now(): number;
	left: AbortSignal | undefined;
}

class LazyTimer implements Timer {
	readonly #pending: Set<LazyTimer>;
	readonly #swept = settledElsewhere<void>();
	#native: Timer | undefined;
	readonly #left: AbortSignal | undefined;
	#isCancelled = false;

	constructor(milliseconds: number, onTime: () => void, { pending, now, left }: LazyTimerOptions) {
		this.#pending = pending;
		this.#left = left;
		const startedAt = now();
		void this.#swept.promise.then(() => {
			if (this.#isCancelled) return;
			// The clock may have been set back.
			const elapsed = Math.max(0, now() - startedAt);
			this.#native = startNativeTimer(milliseconds - elapsed, () => {
				if (!this.#hasLeft) onTime();
			});
		});
	}

	/** Read when it matters: a listener at the signal takes 2% of the CPU of a small request. */
	get #hasLeft(): boolean {
		return this.#left?.aborted ?? false;
	}

	/** May be called in the context of another request. */
	makeNative(): void {
		if (!this.#hasLeft) this.#swept.resolve();
	}

	cancel(): void {
		this.#isCancelled = true;
		this.#native?.cancel();
		this.#pending.delete(this);
	}
}
