/** A request whose answer may be complete before it is. */
import { createConnection, type Socket } from "node:net";

export const PIECE = Buffer.alloc(64 * 1024, "x");

export interface EarlyRequest {
	startLine: string;
	headers?: readonly string[];
	bytes: number;
	isChunked: boolean;
	/** Reads nothing until the whole body is sent, as many clients do. */
	readsLast: boolean;
}

/** The status of the answer, or how the connection ended without one. */
export async function statusOf(port: number, request: EarlyRequest): Promise<string> {
	const socket = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
	let text = "";
	let failure = "closed";
	socket.on("error", ({ message }) => (failure = message));
	if (request.readsLast) socket.pause();
	socket.on("data", (bytes) => (text += bytes));
	// Not by `once`, which rejects if a write fails: the answer may be there.
	const answered = new Promise<void>((resolve) => {
		socket.on("data", () => isComplete(text) && resolve());
		socket.once("end", resolve).once("close", () => resolve());
	});
	await send(socket, request);
	socket.resume();
	await answered;
	socket.destroy();
	return isComplete(text) ? text.slice(9, 12) : `${failure} after ${text.length} bytes`;
}

function isComplete(text: string): boolean {
	const [head = "", ...body] = text.split("\r\n\r\n");
	const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
	return body.length > 0 && body.join("\r\n\r\n").length >= Number(length ?? 0);
}

async function send(
	socket: Socket,
	{ startLine, headers = [], bytes, isChunked }: EarlyRequest,
): Promise<void> {
	const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${bytes}`;
	const lines = [startLine, "host: x", "content-type: application/json", ...headers, framing];
	socket.write(`${lines.join("\r\n")}\r\n\r\n`);
	const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
	for (let unsent = bytes; unsent > 0 && socket.writable; ) {
		const piece = PIECE.subarray(0, unsent);
		unsent -= piece.length;
		if (isChunked) socket.write(`${piece.length.toString(16)}\r\n`);
		let isTaken = socket.write(piece);
		if (isChunked) isTaken = socket.write("\r\n");
		if (!isTaken) await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
	}
	const sent = Promise.withResolvers<void>();
	socket.write(isChunked ? "0\r\n\r\n" : "", () => sent.resolve());
	await Promise.race([sent.promise, closed]);
}
