/**
 * Collects a response body. If `content-length` is correct, the body is held once, in one buffer of that length. The
 * header is only a hint: a compressed body is longer, and a server may be wrong.
 */
export class BodyBuffer {
	/** Has the announced length; its first `#filled` bytes are the body's. */
	#buffer: Uint8Array<ArrayBuffer>;
	#filled = 0;
	/** Pieces that did not fit into the buffer. */
	#overflow: Uint8Array[] = [];
	#length = 0;

	constructor(maxBytes: number, { headers }: Pick<Response, "headers">) {
		const announced = Number(headers.get("content-length"));
		const isUsable = Number.isSafeInteger(announced) && announced > 0 && announced <= maxBytes;
		this.#buffer = new Uint8Array(isUsable ? announced : 0);
	}

	get length(): number {
		return this.#length;
	}

	add(piece: Uint8Array): void {
		if (this.#overflow.length === 0 && this.#filled + piece.length <= this.#buffer.length) {
			this.#buffer.set(piece, this.#filled);
			this.#filled += piece.length;
		} else this.#overflow.push(piece);
		this.#length += piece.length;
	}

	/** The body, in a buffer of exactly its length. Call it once: it releases everything. */
	take(): Uint8Array<ArrayBuffer> {
		const buffer = this.#buffer;
		this.#buffer = new Uint8Array();
		// Pieces overflow only beyond the buffer's length.
		if (this.#length === buffer.length) return buffer;
		const body = new Uint8Array(this.#length);
		body.set(buffer.subarray(0, this.#filled));
		let at = this.#filled;
		// Each piece is released as soon as it is copied.
		this.#overflow.reverse();
		for (let piece = this.#overflow.pop(); piece; piece = this.#overflow.pop()) {
			body.set(piece, at);
			at += piece.length;
		}
		return body;
	}
}
