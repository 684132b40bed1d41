/** A wait of a caller who may leave meanwhile. */
import { AiError } from "./errors.ts";

/** Settles as `work` does. Rejects with `aborted` if `signal` fires first: the caller has left. The work goes on. */
export async function unlessLeft<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
	const left = Promise.withResolvers<never>();
	const leave = (): void => left.reject(new AiError("aborted"));
	if (signal.aborted) leave();
	else signal.addEventListener("abort", leave);
	try {
		return await Promise.race([work, left.promise]);
	} finally {
		// The caller may use the signal for many requests.
		signal.removeEventListener("abort", leave);
	}
}
