/**
 * Reads a body that another server sends, up to a bound. Only this and the reader of engines' replies
 * (`src/backends/transport/reply-body.ts`) read such a body whole; `test/node/outbound.test.ts` finds other reads.
 */
import { Utf8Pieces } from "../media/utf8.ts";

type Body = ReadableStream<Uint8Array> | null;

/** `undefined`: it is longer than `maxBytes`, and is cancelled. With 0 it is not read. */
export async function boundedText(body: Body, maxBytes: number): Promise<string | undefined> {
	if (!body || maxBytes === 0) return unread(body);
	const pieces = new Utf8Pieces();
	let text = "";
	let bytes = 0;
	// Leaving the loop cancels the body.
	for await (const piece of body) {
		bytes += piece.byteLength;
		if (bytes > maxBytes) return undefined;
		text += pieces.decode(piece);
	}
	return text + pieces.end();
}

/** As {@link boundedText}, without decoding. */
export async function boundedBytes(body: Body, maxBytes: number): Promise<Uint8Array | undefined> {
	const pieces: Uint8Array[] = [];
	let bytes = 0;
	for await (const piece of body ?? []) {
		bytes += piece.byteLength;
		if (bytes > maxBytes) return undefined;
		pieces.push(piece);
	}
	return Buffer.concat(pieces);
}

export async function unread(body: Body): Promise<undefined> {
	await body?.cancel();
}
