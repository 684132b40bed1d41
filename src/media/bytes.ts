/** Copies the chunks of a stream into one new array. */
export function concat(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
	let length = 0;
	for (const chunk of chunks) length += chunk.length;
	const joined = new Uint8Array(length);
	let at = 0;
	for (const chunk of chunks) {
		joined.set(chunk, at);
		at += chunk.length;
	}
	return joined;
}

/** Frees the memory of bytes that are not read again. Without it, a large body leaves up to 64 MB until the next garbage collection. */
export function release({ buffer }: Uint8Array): void {
	if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
