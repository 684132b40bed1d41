/** A PostgreSQL server that answers each statement without parameters by its text, or as a test says. */
import { type AddressInfo, createServer, type Socket } from "node:net";

/** https://www.postgresql.org/docs/current/protocol-message-formats.html */
export function message(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
	const body = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
	const length = Buffer.alloc(4);
	length.writeInt32BE(body.length + 4);
	return Buffer.concat([Buffer.from(type), length, body]);
}

const int32 = (value: number): Buffer => {
	const bytes = Buffer.alloc(4);
	bytes.writeInt32BE(value);
	return bytes;
};
const int16 = (value: number): Buffer => int32(value).subarray(2);

export const AUTHENTICATED = message("R", int32(0));
export const READY = message("Z", "I");
const PASSWORD_PLEASE = message("R", int32(3));
const TEXT = 25;

/** The server ends the connection with it, or sends {@link READY} next. */
export const failure = (code: string): Buffer =>
	message("E", `SFATAL\0VFATAL\0C${code}\0Mended by the test\0\0`);

/** One row with the column `text`. */
const rowOf = (text: string): Buffer =>
	Buffer.concat([
		message("T", int16(1), "text\0", int32(0), int16(0), int32(TEXT), int16(-1), int32(-1), int16(0)),
		message("D", int16(1), int32(Buffer.byteLength(text)), text),
		message("C", "SELECT 1\0"),
		READY,
	]);

export interface Statement {
	text: string;
	/** The number of the connection, from 1. */
	connection: number;
	socket: Socket;
	/** Sends a row. By default it has the text of the statement. */
	answer(row?: string): void;
}

/** `on`: for each statement. By default it is answered. */
export async function scriptedPostgres(on: (statement: Statement) => void = ({ answer }) => answer()) {
	const sockets = new Set<Socket>();
	const statements: string[] = [];
	const passwords: string[] = [];
	let opened = 0;
	const server = createServer((socket) => {
		const connection = ++opened;
		sockets.add(socket);
		socket.on("error", () => {}).once("close", () => sockets.delete(socket));
		let bytes = Buffer.alloc(0);
		let hasStarted = false;
		const onMessage = (type: string, body: Buffer) => {
			const text = body.subarray(0, -1).toString();
			if (type === "p") {
				passwords.push(text);
				socket.write(Buffer.concat([AUTHENTICATED, READY]));
			}
			if (type === "X") socket.end();
			if (type !== "Q") return;
			statements.push(`${connection}: ${text}`);
			on({ text, connection, socket, answer: (row = text) => void socket.write(rowOf(row)) });
		};
		socket.on("data", (piece) => {
			bytes = Buffer.concat([bytes, piece]);
			for (;;) {
				// The first message has no type.
				const start = hasStarted ? 1 : 0;
				if (bytes.length < start + 4 || bytes.length < start + bytes.readInt32BE(start)) return;
				const end = start + bytes.readInt32BE(start);
				if (hasStarted) onMessage(bytes.toString("latin1", 0, 1), bytes.subarray(5, end));
				else socket.write(PASSWORD_PLEASE);
				hasStarted = true;
				bytes = bytes.subarray(end);
			}
		});
	});
	await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
	return {
		port: (server.address() as AddressInfo).port,
		statements,
		passwords,
		/** Connections since the start. */
		opened: () => opened,
		/** Connections now. */
		open: () => sockets.size,
		stop() {
			for (const socket of sockets) socket.destroy();
			server.close();
		},
	};
}
