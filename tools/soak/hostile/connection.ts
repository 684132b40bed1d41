/** A raw connection of an attacker: what it sends is never repaired by a client library, and it may stop reading. */
import { createConnection, type Socket } from "node:net";

const STATUS = /^HTTP\/1\.[01] (\d{3})/;
/** Text of an answer that is kept. */
const KEPT_CHARACTERS = 16_384;

export class Connection {
	/** The first characters of what arrived. */
	received = "";
	readonly socket: Socket;
	/** Resolves when the connection has ended, by either side. */
	readonly closed: Promise<void>;
	#left = false;
	readonly #listeners = new Set<() => void>();

	private constructor(socket: Socket) {
		this.socket = socket;
		this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
		socket.on("error", () => {});
		socket.on("data", (piece) => {
			if (this.received.length < KEPT_CHARACTERS) this.received += piece.toString("latin1");
			for (const listener of this.#listeners) listener();
		});
	}

	/** `localAddress`: of the attacker, on loopback. */
	static open(port: number, localAddress: string): Promise<Connection> {
		const connection = new Connection(createConnection({ port, host: "127.0.0.1", localAddress }));
		return new Promise((resolve) => {
			connection.socket.once("connect", () => resolve(connection));
			connection.socket.once("close", () => resolve(connection));
		});
	}

	/** Resolves when the system has taken the bytes, which may be never if the other side does not read. */
	write(bytes: string | Uint8Array, signal: AbortSignal): Promise<void> {
		return new Promise((resolve) => {
			signal.addEventListener("abort", () => resolve(), { once: true });
			this.socket.once("close", () => resolve());
			if (this.socket.destroyed) resolve();
			else this.socket.write(bytes, () => resolve());
		});
	}

	get isOpen(): boolean {
		return !this.socket.destroyed;
	}

	/** What the attacker got: a status, `left` before one, or `closed` by the other side without one. */
	get result(): string {
		const status = STATUS.exec(this.received)?.[1];
		if (status === undefined) return this.#left ? "left" : "closed";
		const isBusy = status === "429" || status === "503";
		return isBusy && !/\r\nretry-after:/i.test(this.received) ? `${status} without retry-after` : status;
	}

	/** Waits for text that matches, the end of the connection, or the time. */
	async until(pattern: RegExp, milliseconds: number): Promise<void> {
		await new Promise<void>((resolve) => {
			const done = (): void => {
				clearTimeout(timer);
				this.#listeners.delete(check);
				resolve();
			};
			const check = (): void => void (pattern.test(this.received) && done());
			const timer = setTimeout(done, milliseconds);
			this.#listeners.add(check);
			this.closed.then(done);
			check();
		});
	}

	/** Ends the connection with a reset. */
	leave(): void {
		if (this.socket.destroyed) return;
		this.#left = true;
		this.socket.resetAndDestroy();
	}
}

/** A masked frame of a client (RFC 6455, section 5.2). `opcode` 1: text, 0: a continuation. */
export function frame(payload: string, { opcode = 1, final = true } = {}): Uint8Array {
	const bytes = Buffer.from(payload);
	const { length } = bytes;
	const head = Buffer.alloc(length < 126 ? 6 : length < 65_536 ? 8 : 14);
	head[0] = (final ? 0x80 : 0) | opcode;
	if (length < 126) head[1] = 0x80 | length;
	else if (length < 65_536) {
		head[1] = 0x80 | 126;
		head.writeUInt16BE(length, 2);
	} else {
		head[1] = 0x80 | 127;
		head.writeBigUInt64BE(BigInt(length), 2);
	}
	// The mask is zero, so the payload is unchanged.
	return Buffer.concat([head, bytes]);
}
