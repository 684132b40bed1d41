/**
 * Connects a live session to a websocket. The size of a frame and the bytes that wait to be processed are limited, because a
 * websocket has no backpressure for its sender.
 *
 * Each frame of the caller and of the engine needs a valid token.
 *
 * Closes with 1000 when the session has ended, 1008 after an error of the caller and if the token is revoked, 1009 after a frame that is too large,
 * 1011 after an error of the gateway or the engine. The session ends when either side closes the socket.
 */
import { type AiError, toAiError } from "../core/errors.ts";
import type { SocketFrames } from "../dialects/dialect.ts";
import { logFailure } from "../telemetry/log.ts";
import { type OpenSocket, openSocket } from "./open-socket.ts";
import { POLICY_VIOLATION } from "./socket-caller.ts";

const MAX_FRAME_BYTES = 1024 * 1024;
/** Minutes of audio. An engine that is so far behind will not catch up. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;
/** What a frame that waits holds beside its own bytes. */
const FRAME_BYTES = 512;
/** Limit of a close frame (RFC 6455, 5.5). */
const MAX_REASON_BYTES = 123;

const NORMAL = 1000;
const TOO_BIG = 1009;
const INTERNAL = 1011;

/** Whether the request is a websocket handshake. */
export const isUpgrade = (request: Request): boolean =>
	request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket";

export interface SocketSession {
	/** The caller's. */
	account: string;
	/** Rejects if the caller may not use the socket any more. */
	requireFrame(): Promise<void>;
}

/** Throws 3040 (429) if too many sockets are open. */
export function socketResponse(frames: SocketFrames, requestId: string, session: SocketSession): Response {
	const open = openSocket(session.account);
	void relay(open, frames, { requestId, requireFrame: session.requireFrame });
	return new Response(null, { status: 101, webSocket: open.client });
}

/** Resolves when the session has ended. Never rejects. */
async function relay(
	{ close, closed, send, socket }: OpenSocket,
	frames: SocketFrames,
	{ requestId, requireFrame }: { requestId: string; requireFrame(): Promise<void> },
): Promise<void> {
	const reader = frames.readable.getReader();
	const writer = frames.writable.getWriter();
	let pending = 0;
	/** Frames are written in their order. */
	let verified = Promise.resolve();
	const cancel = (): void => {
		reader.cancel().catch(() => {});
	};
	const refuse = (code: number, reason: string): void => {
		close(code, reason);
		cancel();
	};
	let hasFailed = false;
	const fail = (thrown: unknown): void => {
		// Each frame that waits fails, too.
		if (hasFailed) return;
		hasFailed = true;
		const error = toAiError(thrown);
		logFailure(error, requestId);
		refuse(error.status < 500 ? POLICY_VIOLATION : INTERNAL, reasonOf(error));
	};
	socket.addEventListener("message", (event) => {
		const data: string | ArrayBuffer = event.data;
		const size = typeof data === "string" ? data.length : data.byteLength;
		if (size > MAX_FRAME_BYTES) return refuse(TOO_BIG, `a frame is larger than ${MAX_FRAME_BYTES} bytes`);
		pending += size + FRAME_BYTES;
		if (pending > MAX_PENDING_BYTES)
			return refuse(POLICY_VIOLATION, `more than ${MAX_PENDING_BYTES} bytes wait to be processed`);
		const write = (): void => {
			writer.write(typeof data === "string" ? data : new Uint8Array(data)).then(
				() => {
					pending -= size + FRAME_BYTES;
				},
				// The reader reports why the session ended.
				() => {},
			);
		};
		verified = verified.then(requireFrame).then(write, fail);
	});
	closed.addEventListener("abort", cancel, { once: true });
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			await requireFrame();
			await send(value);
		}
		close(NORMAL);
	} catch (thrown) {
		fail(thrown);
	}
}

function reasonOf({ message }: AiError): string {
	const bytes = new TextEncoder().encode(message).subarray(0, MAX_REASON_BYTES);
	return new TextDecoder().decode(bytes, { stream: true });
}
