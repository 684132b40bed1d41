/**
 * The frames of a websocket in both directions. If the guard refuses what the caller sends, its close frame waits until the frame of an answer
 * is complete: the caller could not read it within that one.
 */
import { CallerFrames, type FramesConnection, type FramesContext } from "./caller-frames.ts";
import { FrameReader } from "./frame-reader.ts";
import { Lingering } from "./lingering.ts";

interface WebsocketConnection extends Omit<FramesConnection, "end"> {
	/** Bytes of an answer, for the caller. */
	write(bytes: Buffer): void;
	/** The last bytes for the caller. `lingering`: what it sends is dropped since then. */
	end(closeFrame: Buffer, lingering: Lingering): void;
}

export class WebsocketFrames {
	readonly #now: () => number;
	readonly #connection: WebsocketConnection;
	readonly #sent: CallerFrames;
	readonly #answers = new FrameReader();
	/** A close frame that waits. */
	#closing: { frame: Buffer; lingering: Lingering } | undefined;

	/** `written`: bytes of answers that the caller has got already. */
	constructor(context: FramesContext, connection: WebsocketConnection, written: Buffer) {
		this.#now = context.now;
		this.#connection = connection;
		this.#sent = new CallerFrames(context, {
			...{ address: connection.address, reading: connection.reading },
			forward: (bytes, frames) => connection.forward(bytes, frames),
			end: (frame) => this.#close(frame),
		});
		this.#follow(written);
	}

	/** What the caller sends after a close frame is dropped. Returns whether the connection is over. */
	receive(bytes: Buffer): boolean {
		if (this.#closing) return this.#closing.lingering.drop(bytes.length, this.#now());
		this.#sent.receive(bytes);
		return false;
	}

	/** Bytes of answers. */
	pass(bytes: Buffer): void {
		if (this.#closing) {
			const { frame, lingering } = this.#closing;
			lingering.written(this.#now());
			this.#connection.write(bytes.subarray(0, this.#answers.readFrame(bytes)));
			if (!this.#answers.isWithin) this.#connection.end(frame, lingering);
		} else {
			this.#connection.write(bytes);
			this.#follow(bytes);
		}
	}

	/** The runtime does not complete the frame that the close frame waits for, or the caller sends too much. */
	isOver(at: number): boolean {
		return this.#closing?.lingering.isBeyond(at) ?? false;
	}

	/** The connection has ended. */
	end(): void {
		this.#sent.end();
	}

	#close(frame: Buffer): void {
		const lingering = new Lingering(this.#now());
		this.#sent.end();
		if (this.#answers.isWithin) this.#closing = { frame, lingering };
		else this.#connection.end(frame, lingering);
	}

	#follow(bytes: Buffer): void {
		for (let at = 0; at < bytes.length; ) at += this.#answers.read(bytes, at).size;
	}
}
