import { type StartTimer, startNativeTimer } from "./lazy-timer.ts";

interface Timing {
	/** Absent: native timers. */
	startTimer?: StartTimer | undefined;
	/** Fires when the caller leaves who waits for the work. */
	left?: AbortSignal;
}

/** Settles as the work does, or rejects with `late()` after the time. The work goes on. */
export async function withTimeout<T>(
	work: Promise<T>,
	milliseconds: number,
	late: () => Error,
	{ startTimer = startNativeTimer, left }: Timing = {},
): Promise<T> {
	const { promise: tooLate, reject } = Promise.withResolvers<never>();
	const timer = startTimer(milliseconds, () => reject(late()), left);
	try {
		return await Promise.race([work, tooLate]);
	} finally {
		timer.cancel();
	}
}

/** The result of the work. `undefined`: it failed, or takes longer. The work goes on. */
export const resultWithin = <T>(
	work: Promise<T>,
	milliseconds: number,
	timing?: Timing,
): Promise<T | undefined> =>
	withTimeout(work, milliseconds, () => new Error("late"), timing).catch(() => undefined);

/** As {@link withTimeout}. The signal of the work fires with the failure: unlike `AbortSignal.timeout`, after what has arrived is read. */
export function endedAfter<T>(
	milliseconds: number,
	late: () => Error,
	work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
	const controller = new AbortController();
	return withTimeout(work(controller.signal), milliseconds, () => {
		const error = late();
		controller.abort(error);
		return error;
	});
}
