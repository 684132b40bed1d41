/** Copies the bytes of a body while its reader reads them. */
import { BufferHold } from "../../core/process-counts.ts";
import { concat } from "../../media/bytes.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { GatewayRequest } from "../request.ts";

interface Recording {
	/** For the reader. */
	body: ReadableStream<Uint8Array>;
	/** The bytes of a body that was read to its end. `undefined` if it failed, was cancelled, or is too large. */
	complete: Promise<Uint8Array<ArrayBuffer> | undefined>;
	/** The complete bytes are not needed any more. */
	release(): void;
}

/**
 * Keeps at most `maxBytes` in memory, and none if the process buffers too much, or after `signal` has fired: the reader may then neither
 * read on nor cancel. The reader decides the pace.
 */
export function recorded(
	body: ReadableStream<Uint8Array>,
	maxBytes: number,
	{ account, signal }: Pick<GatewayRequest, "account" | "signal">,
): Recording {
	const hold = new BufferHold(account).releaseOn(signal);
	const source = PulledStream.sourceOf(body);
	const { promise: complete, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer> | undefined>();
	let pieces: Uint8Array[] | undefined = [];
	let size = 0;
	const drop = (): void => {
		pieces = undefined;
		hold.release();
		resolve(undefined);
	};
	signal.addEventListener("abort", drop, { once: true });
	const keep = (piece: Uint8Array | undefined): Uint8Array | undefined => {
		if (!pieces) return piece;
		if (!piece) {
			resolve(concat(pieces));
			return undefined;
		}
		size += piece.length;
		if (size > maxBytes || !hold.tryGrow(piece.length)) drop();
		// The reader may transfer the buffer of its piece.
		else pieces.push(piece.slice());
		return piece;
	};
	const fail = (error: unknown): never => {
		drop();
		throw error;
	};
	return {
		complete,
		release: () => hold.release(),
		body: new PulledStream<Uint8Array>({
			pull: () => source.pull().then(keep, fail),
			cancel(reason) {
				drop();
				return source.cancel(reason);
			},
		}),
	};
}
