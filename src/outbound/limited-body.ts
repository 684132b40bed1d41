/** The body of an answer that is passed on: a pause of the server and the time of the whole call are limited. */
import { AiError } from "../core/errors.ts";
import { LargeReads } from "../streams/large-reads.ts";
import { PulledStream } from "../streams/pulled-stream.ts";
import type { Deadline } from "./deadline.ts";

/** A caller who does not read holds so much. */
const MAX_READ_BYTES = 64 * 1024;
/** A shorter body is one piece, and large reads would cost more than they save. */
const SMALL_BODY_BYTES = 4 * 1024;

interface BodyLimits {
	/** Milliseconds that a read may take. */
	idleMs: number;
	deadline: Deadline;
	/** Of the body, by its header. */
	length?: string | null;
}

/** Takes over the body, and closes the deadline at its end. Cancelling it ends the call. */
export function limitedBody(
	body: ReadableStream<Uint8Array>,
	{ idleMs, deadline, length }: BodyLimits,
): ReadableStream<Uint8Array> {
	const isSmall = length != null && Number(length) <= SMALL_BODY_BYTES;
	const source = isSmall ? PulledStream.sourceOf(body) : new LargeReads(body, MAX_READ_BYTES);
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
			return source.pull().then(received, failed);
		},
		cancel(reason) {
			deadline.abort(new AiError("aborted"));
			return source.cancel(reason);
		},
	});
}
