/**
 * Logs a failure by its place, code and stack frames, never by its message: messages of foreign errors may quote prompts
 * or keys. Failures that only the caller can fix, and requests that the caller cancelled, are not logged.
 */
import type { AiError } from "../core/errors.ts";

/** Stack frames in one log line. */
const FRAMES = 8;

/** `requestId`: empty if the failure is of no request. */
export function logFailure(error: AiError, requestId: string, now = Date.now()): void {
	const { cause, code, key, place, status, upstream } = error;
	if (key === "aborted") return;
	// An engine's failure is logged with the engine and its status; our own (5xx) with its place in the code.
	const isEngine = upstream !== undefined || (status >= 500 && place !== undefined && "backend" in place);
	const where = isEngine
		? { ...place, ...(upstream && { upstream }), ...(cause instanceof Error && { cause: cause.name }) }
		: cause instanceof Error
			? { ...place, cause: cause.name, ...(status >= 500 && { at: framesOf(cause) }) }
			: undefined;
	if (!where) return;
	const time = new Date(now).toISOString();
	console.error(JSON.stringify({ time, ...(requestId && { requestId }), code, failure: key, ...where }));
}

/** Skips the message at the start of the stack, because its lines may look like frames. */
function framesOf({ message, stack = "" }: Error): string[] {
	const start = stack.indexOf(message);
	const frames = start < 0 ? "" : stack.slice(start + message.length);
	return frames
		.split("\n")
		.filter((line) => /^\s+at /.test(line))
		.slice(0, FRAMES)
		.map((line) => line.trim());
}
