/** Parts of the forms of uploads, whose bodies arrive slowly. */
import { AiError } from "../../core/errors.ts";
import { startNativeTimer } from "../../core/lazy-timer.ts";
import type { FormBodyPart } from "../../jobs/files/form-parts.ts";
import { concat } from "../../media/bytes.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";

/** A client that sends nothing for so long has left. */
const IDLE_MS = 60_000;
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
	return new TextDecoder().decode(concat(pieces));
}

/** The body, which fails if the client sends nothing for too long. */
export function untilIdle(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	const source = PulledStream.sourceOf(body);
	return new PulledStream<Uint8Array>({
		pull() {
			const { promise, resolve, reject } = Promise.withResolvers<Uint8Array | undefined>();
			const timer = startNativeTimer(IDLE_MS, () => {
				const error = new AiError("timeout", `Request timeout: nothing arrived for ${IDLE_MS} ms`);
				void source.cancel(error).catch(() => {});
				reject(error);
			});
			source
				.pull()
				.then(resolve, (cause: unknown) => reject(new AiError("aborted", undefined, { cause })))
				.finally(() => timer.cancel());
			return promise;
		},
		cancel: (reason) => source.cancel(reason),
	});
}
