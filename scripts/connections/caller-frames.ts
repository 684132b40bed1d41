/**
 * Follows the frames that the caller of a websocket sends (RFC 6455, section 5), and bounds them:
 *
 * - The runtime keeps the parts of an incomplete message in memory, in any number of parts, and the Worker sees only complete ones.
 * - While a caller's bytes have arrived, the runtime reads one frame after the other and nothing else, so frames pass at a limited rate.
 * - The runtime writes a line to the log for each frame that breaks the protocol, so such a frame does not reach it.
 */
import { Allowance } from "../../src/core/allowance.ts";
import { SharedCount } from "../../src/core/shared-count.ts";
import { CLOSE } from "../../src/http/close-codes.ts";
import type { ConnectionContext } from "./connection-context.ts";
import type { Reading } from "./connection-pace.ts";
import { type FrameHeader, FrameReader } from "./frame-reader.ts";

/** Frames of one websocket, at once and in a second. Live audio has 50 in a second, or 375 if a browser sends each block of 128 samples. */
const FRAMES = { burst: 500, perSecond: 2_000 };
/**
 * Frames of one websocket that pass in `TOGETHER_MS`. What passes at once counts later, and until then no other caller of a runtime that is
 * behind begins work. So many sockets that stay below the rate would delay all callers.
 */
const MAX_TOGETHER = 50;
/** Also the shortest wait: a shorter one would need a timer for each frame. */
const TOGETHER_MS = 10;
/** The runtime keeps about 30 bytes of an empty part. No client divides a message into so many. */
const MAX_PARTS = 4_096;
/** The runtime reads no larger message. */
const MAX_MESSAGE_BYTES = 32 * 1024 * 1024;

const CONTINUATION = 0;
const OPCODES: ReadonlySet<number> = new Set([CONTINUATION, 1, 2, 8, 9, 10]);
/** Opcodes from here on are of control frames: they may stand between the parts of a message, and are none. */
const FIRST_CONTROL = 8;
const MAX_CONTROL_BYTES = 125;

/** Code and reason of a close frame. */
type Refusal = readonly [code: number, reason: string];
const MALFORMED: Refusal = [
	CLOSE.protocolError,
	"the frame cannot be read: send it with a mask, and without compression or other extensions",
];
const TOO_LARGE: Refusal = [CLOSE.tooLarge, "a message has at most 32 MiB and 4,096 parts"];
const NO_SPACE: Refusal = [CLOSE.tryAgainLater, "there is no space for the message, please try again"];

/** `max`: bytes of the incomplete messages of all callers. */
export const socketBytesOf = (max: number): SharedCount =>
	new SharedCount({ name: "socket_bytes", title: "bytes of incomplete websocket messages", max });

export type FramesContext = Pick<ConnectionContext, "now" | "socketBytes">;

export interface FramesConnection {
	address: string;
	reading: Pick<Reading, "readLater">;
	/** `frames`: those that begin in these bytes. */
	forward(bytes: Buffer, frames: number): void;
	/** The caller must not send more, and gets this close frame. */
	end(close: Buffer): void;
}

export class CallerFrames {
	/** Bytes of incomplete messages, by address. */
	readonly #held: SharedCount;
	readonly #now: () => number;
	readonly #connection: FramesConnection;
	readonly #reader = new FrameReader();
	readonly #allowance = new Allowance(FRAMES);
	/** Frames that have passed since `at`. */
	#together = { at: 0, frames: 0 };
	#isControl = false;
	#isLast = false;
	/** Of the current message. */
	#parts = 0;
	#bytes = 0;

	constructor({ socketBytes, now }: FramesContext, connection: FramesConnection) {
		this.#held = socketBytes;
		this.#now = now;
		this.#connection = connection;
	}

	/** Forwards the bytes that may pass now. The others are read later, or dropped if a frame is refused. */
	receive(bytes: Buffer): void {
		const { end, forward, reading } = this.#connection;
		const at = this.#now();
		const { passed, frames, refusal } = this.#follow(bytes, at);
		if (passed > 0) forward(bytes.subarray(0, passed), frames);
		if (refusal) end(closeFrame(refusal));
		else if (passed < bytes.length)
			reading.readLater(bytes.subarray(passed), Math.max(TOGETHER_MS, this.#allowance.delayMs(at)));
	}

	/** The message is complete, or the connection has ended. */
	end(): void {
		this.#held.release(this.#connection.address, this.#bytes);
		this.#bytes = 0;
		this.#parts = 0;
	}

	/** Returns how many of the bytes may pass, and of the frames: those before the frame that is refused. */
	#follow(bytes: Buffer, now: number): { passed: number; frames: number; refusal?: Refusal | undefined } {
		let at = 0;
		let frameAt = 0;
		let frames = 0;
		while (at < bytes.length) {
			const isPayload = this.#reader.isInPayload;
			if (!this.#reader.isWithin) {
				if (!this.#mayBegin(now)) break;
				frameAt = at;
			}
			const { size, header } = this.#reader.read(bytes, at);
			at += size;
			let refusal: Refusal | undefined;
			if (header) refusal = this.#begin(header);
			else if (isPayload && !this.#isControl && !this.#hold(size)) refusal = NO_SPACE;
			if (refusal) return { passed: frameAt, frames, refusal };
			if (header) frames++;
			if (!this.#reader.isWithin && !this.#isControl && this.#isLast) this.end();
		}
		return { passed: at, frames };
	}

	#mayBegin(now: number): boolean {
		if (now - this.#together.at >= TOGETHER_MS) this.#together = { at: now, frames: 0 };
		return this.#together.frames < MAX_TOGETHER && this.#allowance.delayMs(now) === 0;
	}

	#begin({ hasReservedBits, isLast, isMasked, opcode, payloadBytes }: FrameHeader): Refusal | undefined {
		this.#isControl = opcode >= FIRST_CONTROL;
		this.#isLast = isLast;
		this.#allowance.count(1);
		this.#together.frames++;
		// The gateway agrees to no extension (wrangler.jsonc).
		if (!isMasked || hasReservedBits || !OPCODES.has(opcode)) return MALFORMED;
		if (this.#isControl) return isLast && payloadBytes <= MAX_CONTROL_BYTES ? undefined : MALFORMED;
		if ((opcode === CONTINUATION) !== this.#parts > 0) return MALFORMED;
		this.#parts++;
		return this.#parts > MAX_PARTS || this.#bytes + payloadBytes > MAX_MESSAGE_BYTES ? TOO_LARGE : undefined;
	}

	#hold(bytes: number): boolean {
		if (!this.#held.tryTake(this.#connection.address, bytes)) return false;
		this.#bytes += bytes;
		return true;
	}
}

function closeFrame([code, reason]: Refusal): Buffer {
	const payload = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]);
	payload.writeUInt16BE(code);
	return Buffer.concat([Buffer.from([0x88, payload.length]), payload]);
}
