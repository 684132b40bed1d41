/** Lines of a file that arrives in chunks of any size. */
import { expect, it } from "vitest";
import { inputLines } from "../../../src/jobs/batches/input-lines.ts";

const FILE = '\uFEFF{"a":1}\r\n\n{"ä":"€"}\nlong line of more than twenty bytes\nlast';
const LINES = [
	{ line: 1, offset: 3, text: '{"a":1}' },
	{ line: 2, offset: 12, text: "" },
	{ line: 3, offset: 13, text: '{"ä":"€"}' },
	{ line: 4, offset: 26, text: undefined },
	{ line: 5, offset: 62, text: "last" },
];

/** Chunks with a buffer each, as those of the storage. */
function chunked(size: number): ReadableStream<Uint8Array> {
	const bytes = new TextEncoder().encode(FILE);
	let at = 0;
	return new ReadableStream({
		pull(controller) {
			if (at >= bytes.length) return controller.close();
			controller.enqueue(bytes.slice(at, at + size));
			at += size;
		},
	});
}

it.each([1, 2, 5, 13, 1_000])(
	"reads lines from chunks of %d bytes, and frees each before the next",
	async (size) => {
		const seen: object[] = [];
		let last: Uint8Array | undefined;
		for await (const { bytes, ...place } of inputLines(chunked(size), 20)) {
			expect(last?.length ?? 0).toBe(0);
			last = bytes;
			seen.push({
				...place,
				text: bytes && new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes),
			});
		}
		expect(seen).toEqual(LINES);
	},
);
