/** Parts of the forms of uploads, whose bodies arrive slowly. */
import { AiError } from "../../core/errors.ts";
import { type StartTimer, startNativeTimer } from "../../core/lazy-timer.ts";
import type { FormBodyPart } from "../../jobs/files/form-parts.ts";
import { concat } from "../../media/bytes.ts";
import { decodeUtf8 } from "../../media/utf8.ts";
import { LargeReads } from "../../streams/large-reads.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";

/** A client that sends nothing for so long has left. */
const SILENT_MS = 60_000;
/** Slower bodies are refused. Measured over each minute of waiting. */
const LOWEST_BYTES_PER_SECOND = 1_024;
const RATE_MS = 60_000;
/** Of one upload: 512 MB at 150 KB a second. */
const UPLOAD_MS = 60 * 60_000;
/** Of a field that is no file. */
const MAX_FIELD_BYTES = 8 * 1024;

/** The text of a field. Throws 1001 if it is too long. */
export async function fieldText({ name, body }: FormBodyPart): Promise<string> {
	const pieces: Uint8Array[] = [];
	let bytes = 0;
	for await (const piece of body) {
		bytes += piece.length;
		if (bytes > MAX_FIELD_BYTES)
			throw new AiError("invalidRequest", `${name.slice(0, 64)}: expected at most ${MAX_FIELD_BYTES} bytes`);
		pieces.push(piece);
	}
	return decodeUtf8(concat(pieces));
}

interface UploadClock {
	/** Milliseconds. */
	now(): number;
	startTimer: StartTimer;
}

const CLOCK: UploadClock = { now: () => Date.now(), startTimer: startNativeTimer };

/**
 * The body, which fails if the client sends nothing or too little for too long. The time in which the store takes it does not count. A piece
 * is replaced by the next one.
 */
export function inUploadTime(
	body: ReadableStream<Uint8Array>,
	{ now, startTimer } = CLOCK,
): ReadableStream<Uint8Array> {
	// Reads of 4 KB, as the runtime has them by default, cost more memory and time than the bytes of a file.
	const source = new LargeReads(body, undefined, true);
	const end = now() + UPLOAD_MS;
	let waitedMs = 0;
	let bytes = 0;
	const fail = (problem: string): AiError => {
		const error = new AiError("timeout", `Request timeout: ${problem}`);
		void source.cancel(error).catch(() => {});
		return error;
	};
	/** Whether what has arrived in the latest times of waiting is too little. */
	const isSlow = (waited: number, length: number): boolean => {
		waitedMs += waited;
		bytes += length;
		if (waitedMs < RATE_MS) return false;
		const tooFew = bytes < (LOWEST_BYTES_PER_SECOND * waitedMs) / 1_000;
		waitedMs = 0;
		bytes = 0;
		return tooFew;
	};
	return new PulledStream<Uint8Array>({
		pull() {
			const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
			const start = now();
			const timer = startTimer(Math.min(SILENT_MS, end - start), () =>
				reject(
					fail(
						now() < end
							? `nothing arrived for ${SILENT_MS} ms`
							: `the body did not arrive within ${UPLOAD_MS} ms`,
					),
				),
			);
			source
				.pull()
				.then(
					(piece) =>
						piece && isSlow(now() - start, piece.length)
							? reject(fail(`fewer than ${LOWEST_BYTES_PER_SECOND} bytes a second arrived`))
							: resolve(piece),
					(cause: unknown) => reject(new AiError("aborted", undefined, { cause })),
				)
				.finally(() => timer.cancel());
			return promise;
		},
		cancel: (reason) => source.cancel(reason),
	});
}
