/**
 * What the log learns of a failure: where, never what. Messages of foreign errors may quote prompts or keys. What the
 * caller alone can mend, or wanted, is not logged.
 */
import type { AiError } from "./errors.ts";

/** Frames of our own code that a line shows. */
const FRAMES = 8;

export function logFailure(error: AiError, requestId: string, now = Date.now()): void {
	const { cause, code, key, place, status, upstream } = error;
	if (key === "aborted") return;
	// Of an engine's failure, which engine and what status; of our own (5xx), the place in the code.
	const where = upstream
		? { ...place, upstream, ...(cause instanceof Error && { cause: cause.name }) }
		: cause instanceof Error
			? { cause: cause.name, ...(status >= 500 && { at: framesOf(cause) }) }
			: undefined;
	if (!where) return;
	const time = new Date(now).toISOString();
	console.error(JSON.stringify({ time, requestId, code, failure: key, ...where }));
}

/** The stack begins with the message, which may have lines that look like frames. */
function framesOf({ message, stack = "" }: Error): string[] {
	const start = stack.indexOf(message);
	const frames = start < 0 ? "" : stack.slice(start + message.length);
	return frames
		.split("\n")
		.filter((line) => /^\s+at /.test(line))
		.slice(0, FRAMES)
		.map((line) => line.trim());
}
