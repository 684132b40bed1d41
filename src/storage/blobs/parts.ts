/** Divides a body into parts of one size. */
import { concat, release } from "../../media/bytes.ts";
import type { BlobBody } from "./blobs.ts";

/**
 * Yields parts of `partBytes`, and a smaller last one. An empty body is one empty part. A reader that stops early cancels the stream.
 * `isOwned`: the chunks are freed when they are in a part, and each part has its own buffer.
 */
export async function* partsOf(
	body: BlobBody,
	partBytes: number,
	isOwned = false,
): AsyncGenerator<Uint8Array> {
	let chunks: Uint8Array[] = [];
	/** Chunks without further bytes. */
	let used: Uint8Array[] = [];
	const nextPart = (): Uint8Array => {
		const part = isOwned ? concat(chunks) : joined(chunks);
		used.forEach(release);
		chunks = [];
		used = [];
		return part;
	};
	let size = 0;
	let isEmpty = true;
	for await (const chunk of body instanceof Uint8Array ? [body] : body) {
		for (let at = 0; at < chunk.length; ) {
			const piece = chunk.subarray(at, at + partBytes - size);
			chunks.push(piece);
			size += piece.length;
			at += piece.length;
			if (isOwned && at === chunk.length) used.push(chunk);
			if (size < partBytes) continue;
			yield nextPart();
			isEmpty = false;
			size = 0;
		}
	}
	if (size > 0 || isEmpty) yield nextPart();
}

/** Without a copy, if possible. */
const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
	const [only] = chunks;
	return chunks.length === 1 && only ? only : concat(chunks);
};
