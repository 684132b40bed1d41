import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CoalescingReader } from "../../src/streams/coalescing-reader.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A stream of bytes that has one chunk per pull, then ends or fails. */
function source(chunks: readonly string[], end: "end" | Error = "end") {
	const state = { sent: 0, cancelledWith: undefined as unknown };
	const body = new ReadableStream({
		type: "bytes",
		pull(controller) {
			const chunk = chunks[state.sent];
			if (chunk !== undefined) {
				state.sent++;
				controller.enqueue(encoder.encode(chunk));
			} else if (end === "end") {
				controller.close();
				controller.byobRequest?.respond(0);
			} else controller.error(end);
		},
		cancel(reason) {
			state.cancelledWith = reason;
		},
	});
	return { body, state };
}

async function readAll(reader: CoalescingReader): Promise<string[]> {
	const pieces: string[] = [];
	for (let read = await reader.read(); !read.done; read = await reader.read())
		pieces.push(decoder.decode(read.value));
	return pieces;
}

/** All reads are in the same millisecond. */
const constant = () => 0;
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `chunk ${i}, `);

describe("CoalescingReader", () => {
	it("reads all chunks of a fast stream with few reads", async () => {
		const chunks = numbered(200);
		const pieces = await readAll(new CoalescingReader(source(chunks).body, constant));
		expect(pieces.join("")).toBe(chunks.join(""));
		expect(pieces.length).toBeLessThan(50);
	});

	it("collects the chunks of a fast stream again after each read", async () => {
		const chunks = Array.from({ length: 400 }, (_, i) => String(i % 10).repeat(1_000));
		const pieces = await readAll(new CoalescingReader(source(chunks).body, constant));
		expect(pieces.join("")).toBe(chunks.join(""));
		// 8 reads of one chunk, then 16 KiB at a time.
		expect(pieces.length).toBeLessThan(60);
	});

	it("reads a slow stream chunk by chunk, and no chunk ahead", async () => {
		const chunks = numbered(50);
		const { body, state } = source(chunks);
		let time = 0;
		const reader = new CoalescingReader(body, () => {
			time += 10;
			return time;
		});
		for (const [i, chunk] of chunks.entries()) {
			expect(decoder.decode((await reader.read()).value)).toBe(chunk);
			expect(state.sent).toBe(i + 1);
		}
		expect(await reader.read()).toMatchObject({ done: true });
	});

	it("collects a slower stream with a longer pause", async () => {
		const chunks = numbered(200);
		let time = 0;
		const clock = () => (time += 10);
		const pieces = await readAll(new CoalescingReader(source(chunks).body, clock, 24));
		expect(pieces.join("")).toBe(chunks.join(""));
		expect(pieces.length).toBeLessThan(50);
	});

	it("reads a large chunk of a slow stream with a small buffer, and the remainder with large ones", async () => {
		let time = 0;
		const { body } = source(["a".repeat(40_000), "b".repeat(2_000), "c"]);
		const pieces = await readAll(new CoalescingReader(body, () => (time += 50)));
		expect(pieces.map(({ length }) => length)).toEqual([1024, 16_384, 16_384, 6_208, 1024, 976, 1]);
	});

	it("delivers each chunk of a stream that was fast, although no other follows", async () => {
		let output: ReadableByteStreamController | undefined;
		const body = new ReadableStream({
			type: "bytes",
			start(controller) {
				output = controller;
			},
		});
		const timers = vi.spyOn(globalThis, "setTimeout");
		onTestFinished(() => timers.mockRestore());
		const reader = new CoalescingReader(body, constant);
		for (const chunk of numbered(40)) {
			const read = reader.read();
			output?.enqueue(encoder.encode(chunk));
			expect(decoder.decode((await read).value)).toBe(chunk);
		}
		// Three times 8 fast reads and 4 pauses without a gain, then 4 reads.
		expect(timers.mock.calls.filter(([, milliseconds]) => milliseconds === 4)).toHaveLength(12);
	});

	it("delivers chunks of any size", async () => {
		const sizes = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 30 });
		await fc.assert(
			fc.asyncProperty(sizes, async (lengths) => {
				const chunks = lengths.map((length, i) => String(i % 10).repeat(length));
				const pieces = await readAll(new CoalescingReader(source(chunks).body, constant));
				expect(pieces.join("")).toBe(chunks.join(""));
			}),
			{ numRuns: 10 },
		);
	});

	it.each([1, 40])("rejects when the stream errors after %i chunks", async (count) => {
		const { body } = source(numbered(count), new Error("connection reset"));
		await expect(readAll(new CoalescingReader(body, constant))).rejects.toThrow("connection reset");
	});

	it("cancels the stream", async () => {
		const { body, state } = source(numbered(10));
		const reader = new CoalescingReader(body, constant);
		await reader.read();
		const reason = new Error("enough");
		await reader.cancel(reason);
		expect(state.cancelledWith).toBe(reason);
	});

	it("collects nothing after it is cancelled", async () => {
		const { body, state } = source(numbered(10_000));
		const reader = new CoalescingReader(body, constant);
		for (let i = 0; i < 12; i++) await reader.read();
		await reader.cancel(new Error("enough"));
		const { sent } = state;
		await scheduler.wait(10);
		expect(state.sent).toBe(sent);
	});

	it("collects at most 16 KiB ahead of its caller", async () => {
		const { body, state } = source(Array.from({ length: 100 }, () => "a".repeat(1024)));
		const reader = new CoalescingReader(body, constant);
		let received = 0;
		for (let i = 0; i < 12; i++) received += (await reader.read()).value?.length ?? 0;
		await scheduler.wait(10);
		// Beside it, each of the two pipes holds one chunk.
		expect(state.sent * 1024 - received).toBeLessThanOrEqual(18 * 1024);
	});

	it("reads a stream that is no stream of bytes", async () => {
		const chunks = numbered(20);
		const body = new ReadableStream<Uint8Array>({
			pull(controller) {
				const chunk = chunks.shift();
				if (chunk) controller.enqueue(encoder.encode(chunk));
				else controller.close();
			},
		});
		expect(await readAll(new CoalescingReader(body, constant))).toEqual(numbered(20));
	});
});
