/** A part of the body of a store's answer. A store that is silent for too long ends it with a failure. */
import { withTimeout } from "../../core/with-timeout.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";

interface BodyRange {
	/** Bytes before the part, which a store has sent although they were not requested. */
	skip: number;
	length: number;
	/** Between two pieces. */
	idleMs: number;
	/** The failure of a store that is silent. */
	silent(): Error;
}

/** A body that ends early is shorter than `length`: the reader checks it. */
export function rangeBody(
	body: ReadableStream<Uint8Array>,
	{ skip, length, idleMs, silent }: BodyRange,
): ReadableStream<Uint8Array> {
	const source = PulledStream.sourceOf(body);
	let before = skip;
	let left = length;
	return new PulledStream<Uint8Array>({
		async pull() {
			while (left > 0) {
				const piece = await withTimeout(source.pull(), idleMs, silent).catch((failure: unknown) => {
					// A silent store keeps its connection open.
					void source.cancel(failure).catch(() => {});
					throw failure;
				});
				if (!piece) return undefined;
				const part = piece.subarray(before, before + left);
				before = Math.max(0, before - piece.length);
				left -= part.length;
				if (part.length === 0) continue;
				if (left === 0) await source.cancel(undefined).catch(() => {});
				return part;
			}
			return undefined;
		},
		cancel: (reason) => source.cancel(reason),
	});
}
