/** Reads websocket frames (RFC 6455, section 5.2), which may arrive in pieces of any size. */

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

/** Bytes of one header, or of one payload. */
interface FramePart {
	size: number;
	/** It is complete with these bytes. */
	header?: FrameHeader;
}

export class FrameReader {
	readonly #headerBytes = Buffer.alloc(MAX_BYTES);
	#count = 0;
	/** Of the payload of the current frame. */
	#remaining = 0;

	/** A frame has begun, and is not complete. */
	get isWithin(): boolean {
		return this.#count > 0 || this.#remaining > 0;
	}

	/** The next bytes are of the payload of the current frame. */
	get isInPayload(): boolean {
		return this.#remaining > 0;
	}

	/** Reads from `from` on, up to the end of the header or of the payload. */
	read(bytes: Buffer, from = 0): FramePart {
		if (this.isInPayload) {
			const size = Math.min(this.#remaining, bytes.length - from);
			this.#remaining -= size;
			return { size };
		}
		for (let at = from; at < bytes.length; ) {
			const header = this.#readHeader(bytes[at++] ?? 0);
			if (!header) continue;
			this.#remaining = header.payloadBytes;
			return { size: at - from, header };
		}
		return { size: bytes.length - from };
	}

	/** Returns the number of bytes up to the end of the current frame. */
	readFrame(bytes: Buffer): number {
		let at = 0;
		do at += this.read(bytes, at).size;
		while (this.isWithin && at < bytes.length);
		return at;
	}

	/** The result is a header that is complete with this byte. */
	#readHeader(byte: number): FrameHeader | undefined {
		this.#headerBytes[this.#count++] = byte;
		if (this.#count < START_BYTES) return;
		const [first = 0, second = 0] = this.#headerBytes;
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
		if (lengthBytes === 2) return this.#headerBytes.readUInt16BE(START_BYTES);
		return Number(this.#headerBytes.readBigUInt64BE(START_BYTES));
	}
}
