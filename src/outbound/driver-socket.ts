/**
 * The way out for drivers of databases: a TCP connection with the methods and events of Node's `Socket` that drivers use. It ends with its
 * signal, and when the server has sent more than `maxBytes` in one use. The address is one of the operator's settings, as that of a backend.
 */
import { EventEmitter } from "node:events";

/** `connect` of `cloudflare:sockets`. */
export type Connect = (
	address: { hostname: string; port: number },
	options: { secureTransport: "off" | "starttls"; allowHalfOpen: boolean },
) => Socket;

export interface Connection {
	connect: Connect;
	hostname: string;
	port: number;
	/** The connection begins without TLS, and may start it later. */
	hasTls: boolean;
	/** Ends the connection. */
	signal: AbortSignal;
}

/** The runtime connects while the first bytes are written. */
export function connectOut({ connect, hasTls, hostname, port, signal }: Connection): Socket {
	signal.throwIfAborted();
	const secureTransport = hasTls ? "starttls" : "off";
	const socket = connect({ hostname, port }, { secureTransport, allowHalfOpen: false });
	ignoreFailure(socket.opened);
	ignoreFailure(socket.closed);
	return socket;
}

/** Who reads the socket sees its failure. */
const ignoreFailure = (promise: Promise<unknown>): void => void promise.catch(() => {});

export class DriverSocket extends EventEmitter {
	/** Drivers read it. */
	readyState: "open" | "closed" = "open";
	readonly #socket: Socket;
	readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
	readonly #signal: AbortSignal;
	/** That the server has sent since the use began. */
	#bytes = 0;
	readonly #onAbort = () => this.#fail(this.#signal.reason);

	constructor(socket: Socket, { maxBytes, signal }: { maxBytes: number; signal: AbortSignal }) {
		super();
		this.#socket = socket;
		this.#writer = socket.writable.getWriter();
		this.#signal = signal;
		ignoreFailure(this.#writer.closed);
		signal.addEventListener("abort", this.#onAbort, { once: true });
		void this.#read(maxBytes);
	}

	async #read(maxBytes: number): Promise<void> {
		try {
			for await (const piece of this.#socket.readable as ReadableStream<Uint8Array>) {
				this.#bytes += piece.byteLength;
				if (this.#bytes > maxBytes) throw new Error(`the server has sent more than ${maxBytes} bytes`);
				this.emit("data", Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
			}
			this.#close();
		} catch (error) {
			this.#fail(error);
		}
	}

	/** A connection that is kept is used again: the bytes of this use are counted from 0. */
	restartCount(): void {
		this.#bytes = 0;
	}

	/** `true`: the driver may write at once again. */
	write(data: Uint8Array, done?: () => void): true {
		this.#writer.write(data).then(done, (error) => this.#fail(error));
		return true;
	}

	end(data?: Uint8Array): void {
		if (data) this.write(data, () => this.#close());
		else this.#close();
	}

	destroy(): void {
		this.#close();
	}

	#fail(error: unknown): void {
		if (this.readyState === "open") this.emit("error", error);
		this.#close();
	}

	#close(): void {
		if (this.readyState === "closed") return;
		this.readyState = "closed";
		this.#signal.removeEventListener("abort", this.#onAbort);
		ignoreFailure(this.#socket.close());
		this.emit("close");
	}
}
