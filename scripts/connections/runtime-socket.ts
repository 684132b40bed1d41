/**
 * A connection to the runtime. The runtime may answer before it has read a body, read some of the rest, and close. Then a write fails while the
 * answer can still be read, so a failed write does not end the socket: it ends when nothing is left to read.
 */
import { Socket } from "node:net";
import { Reading } from "./connection-pace.ts";

type Written = (error?: Error | null) => void;

export class RuntimeSocket extends Socket {
	readonly reading = new Reading(this);

	/** Nothing that it does is of interest any more. */
	leave(): void {
		this.removeAllListeners()
			.on("error", () => {})
			.destroy();
	}

	override _write(bytes: Buffer, encoding: BufferEncoding, written: Written): void {
		super._write(bytes, encoding, () => written());
	}

	override _writev(pieces: { chunk: Buffer; encoding: BufferEncoding }[], written: Written): void {
		super._writev?.(pieces, () => written());
	}
}
