/**
 * A reply that is a conversation, over a websocket. Frames are bounded one by one and by what waits to be heard,
 * because a websocket has no other way to slow its sender. What it sends, the runtime keeps for a reader who is slow.
 *
 * Closes with 1000 when the conversation has ended, 1008 on the caller's mistakes, 1009 on a frame that is too large,
 * 1011 on our own. The conversation ends with the socket, whoever closes it.
 */

import { type AiError, toAiError } from "../core/errors.ts";
import type { SocketFrames } from "../dialects/dialect.ts";
import { logFailure } from "../telemetry/log.ts";

const MAX_FRAME_BYTES = 1024 * 1024;
/** Minutes of sound: an ear that is so far behind will not catch up. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
/** Of a close frame (RFC 6455, 5.5). */
const MAX_REASON_BYTES = 123;

const NORMAL = 1000;
const POLICY = 1008;
const TOO_BIG = 1009;
const INTERNAL = 1011;

/** Whether a request asks for a websocket. */
export const isUpgrade = (request: Request): boolean =>
	request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket";

export function socketResponse(frames: SocketFrames, requestId: string): Response {
	const { 0: client, 1: server } = new WebSocketPair();
	server.binaryType = "arraybuffer";
	server.accept();
	void converse(server, frames, requestId);
	return new Response(null, { status: 101, webSocket: client });
}

/** Ends with the conversation; never rejects. */
async function converse(socket: WebSocket, frames: SocketFrames, requestId: string): Promise<void> {
	const reader = frames.readable.getReader();
	const writer = frames.writable.getWriter();
	let waiting = 0;
	const leave = (): void => {
		reader.cancel().catch(() => {});
	};
	const refuse = (code: number, reason: string): void => {
		close(socket, code, reason);
		leave();
	};
	socket.addEventListener("message", (event) => {
		const data: string | ArrayBuffer = event.data;
		const size = typeof data === "string" ? data.length : data.byteLength;
		if (size > MAX_FRAME_BYTES) return refuse(TOO_BIG, `a frame is larger than ${MAX_FRAME_BYTES} bytes`);
		waiting += size;
		if (waiting > MAX_WAITING_BYTES)
			return refuse(POLICY, `more than ${MAX_WAITING_BYTES} bytes wait to be heard`);
		writer.write(typeof data === "string" ? data : new Uint8Array(data)).then(
			() => {
				waiting -= size;
			},
			// Why not, the other direction says.
			() => {},
		);
	});
	socket.addEventListener("close", () => {
		close(socket, NORMAL);
		leave();
	});
	socket.addEventListener("error", leave);
	try {
		for (;;) {
			const { done, value } = await reader.read();
			if (done) break;
			socket.send(value);
		}
		close(socket, NORMAL);
	} catch (thrown) {
		const error = toAiError(thrown);
		logFailure(error, requestId);
		refuse(error.status < 500 ? POLICY : INTERNAL, reasonOf(error));
	}
}

/** A socket that is closed already stays as it was. */
function close(socket: WebSocket, code: number, reason?: string): void {
	try {
		socket.close(code, reason);
	} catch {
		// Closed from the other side, which is as good.
	}
}

function reasonOf({ message }: AiError): string {
	const bytes = new TextEncoder().encode(message).subarray(0, MAX_REASON_BYTES);
	return new TextDecoder().decode(bytes, { stream: true });
}
