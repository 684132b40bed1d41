/**
 * An answer that is complete before its request. The runtime closes the connection when the answer has ended and more than 64 KB of the body
 * are unread. A connection that is closed with unread bytes is reset, and the caller, who still sends, may lose the answer. So the bytes of the
 * answer are sent at once, and it ends when the rest of the body has been read and dropped.
 */
import type { StartTimer } from "../core/lazy-timer.ts";
import { BufferHold } from "../core/process-counts.ts";

/** How much is read after an answer, and for how long. The guard of connections has the same bounds (`scripts/connections/lingering.ts`). */
export const MAX_UNREAD = { bytes: 32 * 1024 * 1024, ms: 10_000 };

/** The runtime itself reads a shorter rest. */
const READ_BY_RUNTIME = 64 * 1024;
/** Of one read. */
const PIECE_BYTES = 64 * 1024;
/** Callers who are refused are not known: what is read for them counts for all of them together. */
const STRANGERS = "";

/** `response`: a refusal, whose body is short. */
export async function endWithRequest(
	response: Response,
	request: Request,
	services: { startTimer: StartTimer },
): Promise<Response> {
	if (request.bodyUsed || !request.body || !response.body) return response;
	const stated = request.headers.get("content-length");
	if (stated !== null && Number(stated) <= READ_BY_RUNTIME) return response;
	const hold = new BufferHold(STRANGERS).releaseOn(request.signal);
	if (!hold.tryGrow(PIECE_BYTES)) return response;
	const bytes = await response.arrayBuffer();
	// It states the length, by which the caller knows that the answer is complete.
	const { readable, writable } = new FixedLengthStream(bytes.byteLength);
	const writer = writable.getWriter();
	const written = writer.write(new Uint8Array(bytes));
	const dropped = dropBody(request.body, request.signal, services).finally(() => hold.release());
	// Either fails if the caller has left.
	Promise.all([written, dropped])
		.then(() => writer.close())
		.catch(() => {});
	return new Response(readable, response);
}

async function dropBody(
	body: ReadableStream<Uint8Array>,
	left: AbortSignal,
	{ startTimer }: { startTimer: StartTimer },
): Promise<void> {
	const reader = body.getReader({ mode: "byob" });
	const cancel = (): void => void reader.cancel().catch(() => {});
	const timer = startTimer(MAX_UNREAD.ms, cancel, left);
	try {
		let piece = new Uint8Array(PIECE_BYTES);
		for (let bytes = 0; bytes <= MAX_UNREAD.bytes; ) {
			const { value, done } = await reader.read(piece);
			if (done) return;
			bytes += value.length;
			piece = new Uint8Array(value.buffer);
		}
		cancel();
	} finally {
		timer.cancel();
	}
}
