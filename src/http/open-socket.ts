/** Opens a websocket that is counted, and whose frames are sent at a limited pace (`socket-pace.ts`). */
import { openSockets } from "../core/process-counts.ts";
import { CLOSE } from "./close-codes.ts";
import { pacedSender } from "./socket-pace.ts";

export interface OpenSocket {
	/** For the caller's response. */
	client: WebSocket;
	/** Calls `onFrame` with each frame of the caller until `closed` fires. Called once. */
	receive(onFrame: (data: string | ArrayBuffer) => void): void;
	/** Fires when either side has closed the socket, or it failed. */
	closed: AbortSignal;
	/** Frames are sent in their order. The result is a promise if the frame waits for its time. No effect on a closed socket. */
	send(frame: string | Uint8Array): Promise<void> | undefined;
	/** Fires `closed` first. No effect on a socket that is already closed. */
	close(code: number, reason?: string): void;
}

/** Throws 3040 (429) if the account, or the process, has too many sockets. */
export function openSocket(account: string): OpenSocket {
	openSockets.take(account);
	const { 0: client, 1: socket } = new WebSocketPair();
	socket.binaryType = "arraybuffer";
	socket.accept();
	const closed = new AbortController();
	closed.signal.addEventListener("abort", () => openSockets.release(account), { once: true });
	// A caller may send more after the close frame, and each further call of the runtime's `close` throws, which costs a millisecond.
	const close = (code: number, reason?: string): void => {
		if (closed.signal.aborted) return;
		closed.abort();
		try {
			socket.close(code, reason);
		} catch {
			// The other side has closed it.
		}
	};
	socket.addEventListener("close", () => close(CLOSE.normal));
	socket.addEventListener("error", () => closed.abort());
	const receive: OpenSocket["receive"] = (onFrame) =>
		socket.addEventListener("message", ({ data }) => onFrame(data), { signal: closed.signal });
	return { client, receive, closed: closed.signal, send: pacedSender(socket, closed.signal), close };
}
