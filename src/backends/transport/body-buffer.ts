/**
 * A body as it comes, held once where its length was told and it keeps to it. What is told is a hint: a body that was
 * compressed is longer, and a server may be wrong.
 */
export class Gathered {
	/** As long as was told; its first `#filled` bytes are the body's. */
	#told: Uint8Array<ArrayBuffer>;
	#filled = 0;
	/** What came after them. */
	#rest: Uint8Array[] = [];
	#length = 0;

	constructor(maxBytes: number, { headers }: Pick<Response, "headers">) {
		const told = Number(headers.get("content-length"));
		this.#told = new Uint8Array(Number.isSafeInteger(told) && told > 0 && told <= maxBytes ? told : 0);
	}

	get length(): number {
		return this.#length;
	}

	add(piece: Uint8Array): void {
		if (this.#rest.length === 0 && this.#filled + piece.length <= this.#told.length) {
			this.#told.set(piece, this.#filled);
			this.#filled += piece.length;
		} else this.#rest.push(piece);
		this.#length += piece.length;
	}

	/** All of it, in a buffer of its own length. Once: nothing is kept. */
	take(): Uint8Array<ArrayBuffer> {
		const told = this.#told;
		this.#told = new Uint8Array();
		if (this.#length === told.length && this.#rest.length === 0) return told;
		const whole = new Uint8Array(this.#length);
		whole.set(told.subarray(0, this.#filled));
		let at = this.#filled;
		// Each piece is let go as soon as it is copied.
		this.#rest.reverse();
		for (let piece = this.#rest.pop(); piece; piece = this.#rest.pop()) {
			whole.set(piece, at);
			at += piece.length;
		}
		return whole;
	}
}
