/** Writes stored lines of JSON as parts of one JSON text, without holding them in memory. */
import { concat } from "../../media/bytes.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";

const LINE_FEED = 0x0a;
const COMMA = 0x2c;

export type BodyPart = string | ReadableStream<Uint8Array>;

/** Lines as the items of a list: each line feed but the last one becomes a comma. */
export function commaSeparated(lines: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
	const source = PulledStream.sourceOf(lines);
	/** The last piece has ended with a line feed. */
	let isHeld = false;
	return new PulledStream<Uint8Array>({
		async pull() {
			const piece = await source.pull();
			if (!piece) return undefined;
			const bytes = piece.map((byte) => (byte === LINE_FEED ? COMMA : byte));
			const start = isHeld ? Uint8Array.of(COMMA) : new Uint8Array();
			isHeld = piece.at(-1) === LINE_FEED;
			return concat([start, isHeld ? bytes.subarray(0, -1) : bytes]);
		},
		cancel: (reason) => source.cancel(reason),
	});
}

export function joined(parts: readonly BodyPart[]): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	const pieces = (async function* () {
		for (const part of parts)
			if (typeof part === "string") yield encoder.encode(part);
			else yield* part;
	})();
	return new PulledStream<Uint8Array>({
		async pull() {
			const { done, value } = await pieces.next();
			return done ? undefined : value;
		},
		async cancel(reason) {
			await pieces.return(undefined);
			// Those that were not reached.
			for (const part of parts) if (typeof part !== "string" && !part.locked) await part.cancel(reason);
		},
	});
}
