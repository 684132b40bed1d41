/** Divides a stream into lines, without holding more than one line in memory. */
import { concat, release } from "../../media/bytes.ts";

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

interface InputLine {
	/** Counted from 1. */
	line: number;
	/** Of its first byte. */
	offset: number;
	/** Without its line end. `undefined`: the line is too long. */
	bytes: Uint8Array | undefined;
}

/**
 * A byte order mark belongs to no line. Lines may end with CRLF. The end of the last line is optional. The bytes of a line are
 * freed when the next one is read, as the chunks are: the garbage of a large file would stay until the next collection.
 */
export async function* inputLines(
	body: ReadableStream<Uint8Array>,
	maxBytes: number,
): AsyncGenerator<InputLine> {
	let pieces: Uint8Array[] = [];
	let size = 0;
	let line = 1;
	/** Of the line. */
	let start = 0;
	let read = 0;
	const ended = (): InputLine => {
		const whole = size > maxBytes ? undefined : concat(pieces);
		const hasMark = line === 1 && whole && BYTE_ORDER_MARK.every((byte, index) => whole[index] === byte);
		const from = hasMark ? BYTE_ORDER_MARK.length : 0;
		const to = whole?.at(-1) === CARRIAGE_RETURN ? whole.length - 1 : whole?.length;
		return { line: line++, offset: start + from, bytes: whole?.subarray(from, to) };
	};
	for await (const chunk of body) {
		let at = 0;
		for (;;) {
			const end = chunk.indexOf(LINE_FEED, at);
			const part = chunk.subarray(at, end < 0 ? undefined : end);
			size += part.length;
			// The remainder of a line that is too long is only counted.
			if (size > maxBytes) pieces = [];
			else pieces.push(end < 0 ? part.slice() : part);
			if (end < 0) break;
			const found = ended();
			yield found;
			if (found.bytes) release(found.bytes);
			pieces = [];
			size = 0;
			at = end + 1;
			start = read + at;
		}
		read += chunk.length;
		if (chunk.length === chunk.buffer.byteLength) release(chunk);
	}
	if (size > 0) yield ended();
}
