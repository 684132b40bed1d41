/**
 * What the log learns of a failure: where, never what. Messages of foreign errors may quote prompts or keys. What the
 * caller alone can mend, or wanted, is not logged.
 */
import type { AiError } from "../errors.ts";

export function logFailure({ cause, code, key }: AiError, requestId: string): void {
	if (!(cause instanceof Error) || key === "aborted") return;
	const frames = cause.stack?.split("\n").filter((line) => /^\s+at /.test(line));
	console.error(
		JSON.stringify({ requestId, code, failure: key, cause: cause.name, at: frames?.slice(0, 8) }),
	);
}
