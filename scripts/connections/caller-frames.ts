/**
 * Follows the frames that the caller of a websocket sends (RFC 6455, section 5.2). The runtime keeps the parts of an incomplete message in
 * memory, up to 32 MiB in any number of parts, and the Worker sees only complete ones. So the guard bounds them.
 */
import { SharedCount } from "../../src/core/shared-count.ts";
import type { ConnectionPace } from "./connection-pace.ts";

/** The runtime keeps about 30 bytes of an empty part. No client divides a message into so many. */
const MAX_PARTS = 4_096;
/** Opcodes from here on are of control frames: they may stand between the parts of a message, and are none. */
const FIRST_CONTROL = 0x8;
const FIN = 0x80;
const MASKED = 0x80;
/** Values of the length that announce another one, of so many bytes. */
const LENGTH_BYTES: ReadonlyMap<number, number> = new Map([
	[126, 2],
	[127, 8],
]);
const KEY_BYTES = 4;
const START_BYTES = 2;
const MAX_HEADER_BYTES = 14;

/** `max`: bytes of the incomplete messages of all callers. */
export const socketBytesOf = (max: number): SharedCount =>
	new SharedCount({ name: "socket_bytes", title: "bytes of incomplete websocket messages", max });

export class CallerFrames {
	readonly #held: SharedCount;
	readonly #address: string;
	readonly #pace: Pick<ConnectionPace, "passedFrames">;
	readonly #header = Buffer.alloc(MAX_HEADER_BYTES);
	#headerBytes = 0;
	/** Of the payload of the current frame. */
	#remaining = 0;
	#isControl = false;
	#isLast = false;
	/** Of the current message. */
	#parts = 0;
	#bytes = 0;

	/** `held`: bytes of incomplete messages, by address. */
	constructor(held: SharedCount, address: string, pace: Pick<ConnectionPace, "passedFrames">) {
		this.#held = held;
		this.#address = address;
		this.#pace = pace;
	}

	/** The bytes have arrived. Returns `false` if the message has too many parts, or there is no space for it. */
	mayPass(bytes: Buffer): boolean {
		let frames = 0;
		for (let at = 0; at < bytes.length; ) {
			if (this.#remaining > 0) {
				const taken = Math.min(this.#remaining, bytes.length - at);
				at += taken;
				this.#remaining -= taken;
				if (!this.#isControl && !this.#hold(taken)) return false;
			} else {
				this.#header[this.#headerBytes++] = bytes[at++] ?? 0;
				if (!this.#readHeader()) continue;
				frames++;
				if (!this.#isControl && ++this.#parts > MAX_PARTS) return false;
			}
			if (this.#remaining === 0 && !this.#isControl && this.#isLast) this.end();
		}
		this.#pace.passedFrames(frames);
		return true;
	}

	/** The message is complete, or the connection has ended. */
	end(): void {
		this.#held.release(this.#address, this.#bytes);
		this.#bytes = 0;
		this.#parts = 0;
	}

	#hold(bytes: number): boolean {
		if (!this.#held.tryTake(this.#address, bytes)) return false;
		this.#bytes += bytes;
		return true;
	}

	/** Returns whether the header is complete. */
	#readHeader(): boolean {
		if (this.#headerBytes < START_BYTES) return false;
		const [first = 0, second = 0] = this.#header;
		const short = second & ~MASKED;
		const lengthBytes = LENGTH_BYTES.get(short) ?? 0;
		const keyBytes = (second & MASKED) === 0 ? 0 : KEY_BYTES;
		if (this.#headerBytes < START_BYTES + lengthBytes + keyBytes) return false;
		this.#headerBytes = 0;
		this.#isLast = (first & FIN) !== 0;
		this.#isControl = (first & 0xf) >= FIRST_CONTROL;
		this.#remaining = this.#lengthOf(short, lengthBytes);
		return true;
	}

	#lengthOf(short: number, lengthBytes: number): number {
		if (lengthBytes === 0) return short;
		if (lengthBytes === 2) return this.#header.readUInt16BE(START_BYTES);
		return Number(this.#header.readBigUInt64BE(START_BYTES));
	}
}
