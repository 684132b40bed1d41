/** Divides a body into parts of one size. */
import { concat } from "../../media/bytes.ts";
import type { BlobBody } from "./blobs.ts";

/** Yields parts of `partBytes`, and a smaller last one. An empty body is one empty part. A reader that stops early cancels the stream. */
export async function* partsOf(body: BlobBody, partBytes: number): AsyncGenerator<Uint8Array> {
	let chunks: Uint8Array[] = [];
	let size = 0;
	let isEmpty = true;
	for await (const chunk of body instanceof Uint8Array ? [body] : body) {
		for (let at = 0; at < chunk.length; ) {
			const piece = chunk.subarray(at, at + partBytes - size);
			chunks.push(piece);
			size += piece.length;
			at += piece.length;
			if (size < partBytes) continue;
			yield whole(chunks);
			isEmpty = false;
			chunks = [];
			size = 0;
		}
	}
	if (size > 0 || isEmpty) yield whole(chunks);
}

/** Without a copy, if possible. */
const whole = (chunks: readonly Uint8Array[]): Uint8Array => {
	const [only] = chunks;
	return chunks.length === 1 && only ? only : concat(chunks);
};
