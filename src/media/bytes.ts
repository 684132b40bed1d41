/** Copies the chunks of a stream into one new array. */
export function concat(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
	const joined = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
	let at = 0;
	for (const chunk of chunks) {
		joined.set(chunk, at);
		at += chunk.length;
	}
	return joined;
}
