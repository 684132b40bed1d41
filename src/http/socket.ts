/**
 * Connects a live session to a websocket. The size of a frame and the bytes that wait to be processed are limited, because a
 * websocket has no backpressure for its sender.
 *
 * Each frame of the caller and of the engine needs a valid token.
 *
 * The session ends when either side closes the socket.
 */
import { type AiError, toAiError } from "../core/errors.ts";
import type { SocketFrames } from "../dialects/dialect.ts";
import { logFailure } from "../telemetry/log.ts";
import { CLOSE } from "./close-codes.ts";
import { type OpenSocket, openSocket } from "./open-socket.ts";
import { answerFrameCheck } from "./socket-caller.ts";

const MAX_FRAME_BYTES = 1024 * 1024;
/** Pieces of audio that wait are joined up to this size, so that small ones cost little. */
const JOINED_BYTES = 64 * 1024;
/** Minutes of audio. An engine that is so far behind will not catch up. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** What a frame that waits holds beside its own bytes. */
const FRAME_BYTES = 512;
/** Limit of a close frame (RFC 6455, 5.5). */
const MAX_REASON_BYTES = 123;

/** Whether the request is a websocket handshake. */
export const isUpgrade = (request: Request): boolean =>
	request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket";

export interface SocketSession {
	/** The caller's. */
	account: string;
	/** Rejects if the caller may not use the socket any more. */
	requireFrame(): Promise<void>;
	/** Epoch milliseconds. */
	now(): number;
}

/** Throws 3040 (429) if too many sockets are open. */
export function socketResponse(frames: SocketFrames, requestId: string, session: SocketSession): Response {
	const open = openSocket(session.account);
	void relay(open, frames, { ...session, requestId });
	return new Response(null, { status: 101, webSocket: open.client });
}

/** Resolves when the session has ended. Never rejects. */
async function relay(
	{ close, closed, receive, send }: OpenSocket,
	frames: SocketFrames,
	{ now, requestId, requireFrame }: SocketSession & { requestId: string },
): Promise<void> {
	const requireAnswerFrame = answerFrameCheck(requireFrame, now);
	const reader = frames.readable.getReader();
	const writer = frames.writable.getWriter();
	let pending = 0;
	let waiting: (string | Uint8Array)[] = [];
	let isWriting = false;
	const cancel = (): void => {
		reader.cancel().catch(() => {});
	};
	const refuse = (code: number, reason: string): void => {
		close(code, reason);
		cancel();
	};
	const fail = (thrown: unknown): void => {
		if (closed.aborted) return;
		const error = toAiError(thrown);
		logFailure(error, requestId);
		refuse(closeCodeOf(error), reasonOf(error));
	};
	/** In their order. */
	const writeWaiting = async (): Promise<void> => {
		isWriting = true;
		while (waiting.length > 0 && !closed.aborted) {
			const frames = waiting;
			waiting = [];
			try {
				await requireFrame();
			} catch (thrown) {
				fail(thrown);
				break;
			}
			try {
				for (const { frame, held } of joined(frames)) {
					await writer.write(frame);
					pending -= held;
				}
			} catch {
				// The reader reports why the session ended.
				break;
			}
		}
		isWriting = false;
	};
	receive((data) => {
		const size = typeof data === "string" ? data.length : data.byteLength;
		if (size > MAX_FRAME_BYTES)
			return refuse(CLOSE.tooLarge, `a frame is larger than ${MAX_FRAME_BYTES} bytes`);
		pending += size + FRAME_BYTES;
		if (pending > MAX_PENDING_BYTES)
			return refuse(CLOSE.policyViolation, `more than ${MAX_PENDING_BYTES} bytes wait to be processed`);
		waiting.push(typeof data === "string" ? data : new Uint8Array(data));
		if (!isWriting) void writeWaiting();
	});
	closed.addEventListener("abort", cancel, { once: true });
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			await requireAnswerFrame();
			await send(value);
		}
		close(CLOSE.normal);
	} catch (thrown) {
		fail(thrown);
	}
}

interface WaitingFrame {
	frame: string | Uint8Array;
	/** Bytes that wait with it. */
	held: number;
}

/** Joins pieces of audio that follow each other. */
function* joined(frames: readonly (string | Uint8Array)[]): Generator<WaitingFrame> {
	let pieces: Uint8Array[] = [];
	let bytes = 0;
	const takeAudio = (): WaitingFrame[] => {
		const held = bytes + pieces.length * FRAME_BYTES;
		const audio = pieces.length > 0 ? [{ frame: Buffer.concat(pieces), held }] : [];
		pieces = [];
		bytes = 0;
		return audio;
	};
	for (const frame of frames) {
		const { length } = frame;
		if (typeof frame === "string") {
			yield* takeAudio();
			yield { frame, held: length + FRAME_BYTES };
			continue;
		}
		if (bytes + length > JOINED_BYTES) yield* takeAudio();
		pieces.push(frame);
		bytes += length;
	}
	yield* takeAudio();
}

function closeCodeOf({ key, status }: AiError): number {
	if (key === "outOfCapacity") return CLOSE.tryAgainLater;
	return status < 500 ? CLOSE.policyViolation : CLOSE.internalError;
}

function reasonOf({ message }: AiError): string {
	const bytes = new TextEncoder().encode(message).subarray(0, MAX_REASON_BYTES);
	return new TextDecoder().decode(bytes, { stream: true });
}
