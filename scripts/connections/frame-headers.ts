/** Reads the headers of websocket frames (RFC 6455, section 5.2), which may arrive in pieces of any size. */

const FIN = 0x80;
const RESERVED = 0x70;
const OPCODE = 0x0f;
const MASKED = 0x80;
/** Values of the length that announce another one, of so many bytes. */
const LENGTH_BYTES: ReadonlyMap<number, number> = new Map([
	[126, 2],
	[127, 8],
]);
const KEY_BYTES = 4;
const START_BYTES = 2;
const MAX_BYTES = 14;

export interface FrameHeader {
	opcode: number;
	/** Of its message. */
	isLast: boolean;
	/** Each frame of a client is, and none of a server. */
	isMasked: boolean;
	/** Bits that only extensions use, such as compression. */
	hasReservedBits: boolean;
	payloadBytes: number;
}

export class FrameHeaders {
	readonly #bytes = Buffer.alloc(MAX_BYTES);
	#count = 0;

	/** A header has begun, and is not complete. */
	get isWithin(): boolean {
		return this.#count > 0;
	}

	/** The result is a header that is complete with this byte. */
	push(byte: number): FrameHeader | undefined {
		this.#bytes[this.#count++] = byte;
		if (this.#count < START_BYTES) return;
		const [first = 0, second = 0] = this.#bytes;
		const short = second & ~MASKED;
		const lengthBytes = LENGTH_BYTES.get(short) ?? 0;
		const isMasked = (second & MASKED) !== 0;
		const keyBytes = isMasked ? KEY_BYTES : 0;
		if (this.#count < START_BYTES + lengthBytes + keyBytes) return;
		this.#count = 0;
		return {
			opcode: first & OPCODE,
			isLast: (first & FIN) !== 0,
			isMasked,
			hasReservedBits: (first & RESERVED) !== 0,
			payloadBytes: this.#lengthOf(short, lengthBytes),
		};
	}

	#lengthOf(short: number, lengthBytes: number): number {
		if (lengthBytes === 0) return short;
		if (lengthBytes === 2) return this.#bytes.readUInt16BE(START_BYTES);
		return Number(this.#bytes.readBigUInt64BE(START_BYTES));
	}
}
