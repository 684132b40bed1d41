/** The chunks of a stream as one piece. */
export function concat(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
	const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
	let at = 0;
	for (const chunk of chunks) {
		whole.set(chunk, at);
		at += chunk.length;
	}
	return whole;
}
