/** The body of an answer that is passed on: a pause of the server and the time of the whole call are limited. */
import { AiError } from "../core/errors.ts";
import { LargeReads } from "../streams/large-reads.ts";
import { PulledStream } from "../streams/pulled-stream.ts";
import type { Deadline } from "./deadline.ts";

/** A caller who does not read holds so much. */
const MAX_READ_BYTES = 64 * 1024;

export interface BodyLimits {
	/** Milliseconds that a read may take. */
	idleMs: number;
	deadline: Deadline;
}

/** Takes over the body, and closes the deadline at its end. Cancelling it ends the call. */
export function limitedBody(
	body: ReadableStream<Uint8Array>,
	{ idleMs, deadline }: BodyLimits,
): ReadableStream<Uint8Array> {
	const source = new LargeReads(body, MAX_READ_BYTES);
	const received = (piece: Uint8Array | undefined): Uint8Array | undefined => {
		if (piece) deadline.pause();
		else deadline.close();
		return piece;
	};
	const failed = (error: unknown): never => {
		deadline.close();
		throw deadline.signal.aborted ? deadline.signal.reason : error;
	};
	return new PulledStream<Uint8Array>({
		pull() {
			deadline.expect(idleMs);
			return source.read().then(received, failed);
		},
		cancel(reason) {
			deadline.abort(new AiError("aborted"));
			return source.cancel(reason);
		},
	});
}
