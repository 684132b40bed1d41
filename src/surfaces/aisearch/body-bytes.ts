/** The bytes of an uploaded file, up to a limit. */
import type { BufferHold } from "../../core/process-counts.ts";
import { concat } from "../../media/bytes.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";

/** Throws 7054. */
export async function bodyBytes(
	body: ReadableStream<Uint8Array>,
	max: number,
	hold: BufferHold,
): Promise<Uint8Array> {
	const pieces: Uint8Array[] = [];
	let length = 0;
	for await (const piece of body) {
		length += piece.length;
		if (length > max) throw searchFailure("searchFileTooLarge");
		hold.grow(piece.length);
		pieces.push(piece);
	}
	return concat(pieces);
}
