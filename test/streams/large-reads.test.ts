import { describe, expect, it } from "vitest";
import { LargeReads } from "../../src/streams/large-reads.ts";

const KIB = 1024;

async function lengthsOf(source: ReadableStream<Uint8Array>): Promise<number[]> {
	const reads = new LargeReads(source);
	const lengths: number[] = [];
	for (let piece = await reads.pull(); piece; piece = await reads.pull()) lengths.push(piece.length);
	return lengths;
}

describe("LargeReads", () => {
	it("reads more at once while the buffer is full", async () => {
		const { readable, writable } = new IdentityTransformStream();
		const writer = writable.getWriter();
		const written = writer.write(new Uint8Array(600 * KIB)).then(() => writer.close());
		const lengths = await lengthsOf(readable);
		await written;
		expect(lengths).toEqual([4, 16, 64, 256, 256, 4].map((count) => count * KIB));
	});

	it("never waits for more than has arrived, and keeps no large buffer for a small piece", async () => {
		const { readable, writable } = new IdentityTransformStream();
		const writer = writable.getWriter();
		const reads = new LargeReads(readable);
		for (const text of ["first", "second"]) {
			const written = writer.write(new TextEncoder().encode(text));
			const piece = await reads.pull();
			await written;
			expect(new TextDecoder().decode(piece)).toBe(text);
			expect(piece?.buffer.byteLength).toBe(text.length);
		}
		await writer.abort(new Error("reset"));
		await expect(reads.pull()).rejects.toThrow("reset");
	});

	it("reads all into one buffer, if a piece may be replaced", async () => {
		const { readable, writable } = new IdentityTransformStream();
		const writer = writable.getWriter();
		const reads = new LargeReads(readable, undefined, true);
		for (const text of ["first", "second", "a".repeat(4 * KIB)]) {
			const written = writer.write(new TextEncoder().encode(text));
			const piece = await reads.pull();
			await written;
			expect(new TextDecoder().decode(piece)).toBe(text);
			expect(piece?.buffer.byteLength).toBe(4 * KIB);
		}
		const last = writer.write(new TextEncoder().encode("last"));
		expect((await reads.pull())?.buffer.byteLength).toBe(16 * KIB);
		await last;
	});

	it("reads a stream of chunks, and cancels it", async () => {
		let reason: unknown = "none";
		const chunks = (): ReadableStream<Uint8Array> =>
			new ReadableStream({
				pull: (controller) => controller.enqueue(new Uint8Array(3)),
				cancel(cause) {
					reason = cause;
				},
			});
		const reads = new LargeReads(chunks());
		expect(await reads.pull()).toEqual(new Uint8Array(3));
		await reads.cancel();
		expect(reason).toBeUndefined();
		expect(await reads.pull()).toBeUndefined();
	});
});
