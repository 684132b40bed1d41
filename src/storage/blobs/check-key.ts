/** Keys of stored objects. */
import { AiError } from "../../core/errors.ts";

const MAX_KEY_BYTES = 512;

/** Throws for a key that a room must not build of a caller's text. */
export function checkKey(key: string): void {
	const bytes = new TextEncoder().encode(key).length;
	// A lone surrogate has no UTF-8.
	if (bytes === 0 || bytes > MAX_KEY_BYTES || !key.isWellFormed() || key.includes("\0"))
		throw new AiError("invalidRequest", `a key of a stored object has 1 to ${MAX_KEY_BYTES} bytes of UTF-8`);
}
