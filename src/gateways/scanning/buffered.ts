import { concat } from "../../media/bytes.ts";

/** Larger answers are not scanned. */
export const MAX_SCANNED_BYTES = 24 * 1024 * 1024;

/** The complete body. `undefined`: it is larger than `maxBytes`, and is cancelled. Throws if the body fails. */
export async function bufferedBody(
	response: Response,
	maxBytes = MAX_SCANNED_BYTES,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
	const pieces: Uint8Array[] = [];
	let size = 0;
	// Leaving the loop cancels the body.
	for await (const piece of response.body ?? []) {
		size += piece.length;
		if (size > maxBytes) return undefined;
		pieces.push(piece);
	}
	return concat(pieces);
}
