import { startNativeTimer } from "./lazy-timer.ts";

/** Settles as the work does, or rejects with `late()` after the time. The work goes on. */
export async function withTimeout<T>(work: Promise<T>, milliseconds: number, late: () => Error): Promise<T> {
	const { promise: tooLate, reject } = Promise.withResolvers<never>();
	const timer = startNativeTimer(milliseconds, () => reject(late()));
	try {
		return await Promise.race([work, tooLate]);
	} finally {
		timer.cancel();
	}
}
