/** The contract of stored objects, for each of the three stores. */
import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import type { StoredBlob } from "../../../src/storage/blobs/blobs.ts";
import { openStore, STORES } from "./stores.ts";

const MIB = 1024 * 1024;
/** Just above the size of the first parts: pieces have 1 MiB, parts of R2 and of an S3 store 8 MiB. */
const MORE_THAN_ONE_PART = { pieces: 2 * MIB + 7, r2: 8 * MIB + 7, s3: 8 * MIB + 7 };
/** An S3 store has it in three parts. R2 is written part by part by the same loop. */
const THREE_PARTS = 16 * MIB + 7;
const text = (content: string): Uint8Array => new TextEncoder().encode(content);
const BLOCK = 4_096;
const BLOCKS = Array.from({ length: 256 }, (_, first) => {
	const block = new Uint8Array(BLOCK);
	for (let at = 0; at < BLOCK; at++) block[at] = at * 31 + first;
	return block;
});
/** Bytes that differ from block to block, and from piece to piece. */
const pattern = (length: number, seed = 1): Uint8Array => {
	const bytes = new Uint8Array(length);
	for (let at = 0; at < length; at += BLOCK) {
		const block = BLOCKS[(at / BLOCK + seed) & 255];
		bytes.set(block?.subarray(0, length - at) ?? [], at);
	}
	return bytes;
};
const read = async (blob: StoredBlob | undefined): Promise<Uint8Array> =>
	new Uint8Array(await new Response(blob?.body).arrayBuffer());
/** Equality of large arrays without a comparison of each element by the matcher. */
const same = (left: Uint8Array, right: Uint8Array): boolean => Buffer.compare(left, right) === 0;

/** Yields chunks of odd sizes. `pulled`: the number of chunks so far. */
function streamOf(bytes: Uint8Array, { failAt = Number.POSITIVE_INFINITY } = {}) {
	const state = { pulled: 0, cancelled: false };
	let at = 0;
	const stream = new ReadableStream<Uint8Array>(
		{
			pull(controller) {
				if (at >= failAt) throw new Error("the caller left");
				if (at >= bytes.length) return controller.close();
				state.pulled++;
				controller.enqueue(bytes.slice(at, at + 333_333));
				at += 333_333;
			},
			cancel() {
				state.cancelled = true;
			},
		},
		{ highWaterMark: 0 },
	);
	return { stream, state };
}

const failure = async (call: Promise<unknown>): Promise<string> => {
	try {
		await call;
	} catch (error) {
		return error instanceof AiError ? error.key : String(error);
	}
	return "none";
};

describe.each(STORES)("stored objects in %s", (store) => {
	it.each([1, MIB, MORE_THAN_ONE_PART[store]])(
		"frees the pieces of a stream that it owns, of %d bytes",
		async (length) => {
			const { blobs } = await openStore(store);
			const bytes = pattern(length);
			const { stream } = streamOf(bytes);
			const pieces: Uint8Array[] = [];
			const watched = stream.pipeThrough(
				new TransformStream<Uint8Array, Uint8Array>({
					transform(piece, controller) {
						pieces.push(piece);
						controller.enqueue(piece);
					},
				}),
			);
			await blobs.put("files/1", watched, { isOwned: true });
			expect(same(await read(await blobs.get("files/1")), bytes)).toBe(true);
			expect(pieces.map((piece) => piece.length)).toEqual(pieces.map(() => 0));
		},
	);

	it.each([0, 1, 10_000, MIB, MIB + 1, store === "s3" ? THREE_PARTS : MORE_THAN_ONE_PART[store]])(
		"returns the %d bytes that were stored",
		async (length) => {
			const { blobs } = await openStore(store);
			const bytes = pattern(length);
			const put = await blobs.put("files/1", bytes);
			expect(put).toMatchObject({ key: "files/1", bytes: length });
			const streamed = await blobs.put("files/2", streamOf(bytes).stream);
			expect(streamed.bytes).toBe(length);
			expect(same(await read(await blobs.get("files/1")), bytes)).toBe(true);
			const second = await blobs.get("files/2");
			expect(second).toMatchObject({ version: streamed.version, range: { offset: 0, length } });
			expect(same(await read(second), bytes)).toBe(true);
			expect(await blobs.head("files/1")).toEqual(put);
			expect(await blobs.usage()).toEqual([{ store, objects: 2, bytes: 2 * length, refusedPuts: 0 }]);
		},
	);

	it("returns nothing for an object that does not exist", async () => {
		const { blobs } = await openStore(store);
		expect(await blobs.get("files/1")).toBeUndefined();
		expect(await blobs.head("files/1")).toBeUndefined();
		expect(await blobs.delete("files/1")).toBe(0);
		expect(await blobs.list()).toEqual({ blobs: [] });
	});

	it("returns a range", async () => {
		const { blobs } = await openStore(store);
		const bytes = pattern(3 * MIB + 100);
		await blobs.put("files/1", bytes);
		const part = async (range: Parameters<typeof blobs.get>[1]) => {
			const blob = await blobs.get("files/1", range);
			const content = await read(blob);
			const { offset, length } = blob?.range ?? { offset: -1, length: -1 };
			return { offset, length, same: same(content, bytes.slice(offset, offset + length)) };
		};
		// s3rver answers `bytes=0-0` with the complete object.
		expect(await part({ offset: 0, length: 1 })).toEqual({ offset: 0, length: 1, same: true });
		expect(await part({ offset: 0, length: 2 })).toEqual({ offset: 0, length: 2, same: true });
		expect(await part({ offset: MIB - 1, length: 2 })).toEqual({ offset: MIB - 1, length: 2, same: true });
		expect(await part({ offset: 100 })).toEqual({ offset: 100, length: 3 * MIB, same: true });
		expect(await part({ suffix: 100 })).toEqual({ offset: 3 * MIB, length: 100, same: true });
		expect(await part({ suffix: 9 * MIB })).toEqual({ offset: 0, length: 3 * MIB + 100, same: true });
		expect(await part({ offset: 3 * MIB + 99, length: 50 })).toEqual({
			offset: 3 * MIB + 99,
			length: 1,
			same: true,
		});
		expect(await part({ offset: 9 * MIB })).toEqual({ offset: 3 * MIB + 100, length: 0, same: true });
	});

	it("replaces an object whole, also while it is read", async () => {
		const { blobs, collect, contents } = await openStore(store);
		const [old, next] = [pattern(3 * MIB, 1), pattern(2 * MIB, 2)];
		await blobs.put("files/1", old);
		const opened = await blobs.get("files/1");
		await blobs.put("files/1", next);
		await collect();
		if (store === "pieces") expect(same(await read(opened), old)).toBe(true);
		else await opened?.body.cancel();
		expect(same(await read(await blobs.get("files/1")), next)).toBe(true);
		expect(await blobs.usage()).toMatchObject([{ objects: 1, bytes: 2 * MIB }]);
		if (store !== "pieces") expect(await contents()).toHaveLength(1);
	});

	it("deletes the bytes of a deleted object", async () => {
		const { blobs, collect, contents } = await openStore(store);
		await blobs.put("files/1", pattern(2 * MIB));
		await blobs.put("files/2", text("two"));
		expect(await contents()).toHaveLength(2);
		expect(await blobs.delete(["files/1", "files/2", "files/3"])).toBe(2);
		await collect();
		expect(await contents()).toEqual([]);
		expect(await blobs.usage()).toEqual([]);
	});

	it("keeps the old object if a put fails, and nothing of the new one", async () => {
		const { blobs, collect, contents } = await openStore(store);
		await blobs.put("files/1", text("old"));
		const failAt = store === "s3" ? THREE_PARTS : MORE_THAN_ONE_PART[store];
		const { stream } = streamOf(pattern(failAt + MIB), { failAt });
		expect(await failure(blobs.put("files/1", stream))).toContain("the caller left");
		expect(await failure(blobs.put("files/2", streamOf(pattern(MIB), { failAt: 0 }).stream))).toContain(
			"left",
		);
		await collect();
		expect(new TextDecoder().decode(await read(await blobs.get("files/1")))).toBe("old");
		expect((await blobs.list()).blobs.map(({ key }) => key)).toEqual(["files/1"]);
		expect(await blobs.usage()).toEqual([{ store, objects: 1, bytes: 3, refusedPuts: 0 }]);
		expect(await contents()).toHaveLength(1);
	});

	it("has one whole object after two puts at the same time", async () => {
		const { blobs, collect, contents } = await openStore(store);
		const bodies = [pattern(3 * MIB, 1), pattern(4 * MIB, 2)];
		await Promise.all(bodies.map((body) => blobs.put("files/1", streamOf(body).stream)));
		const content = await read(await blobs.get("files/1"));
		expect(bodies.filter((body) => same(body, content))).toHaveLength(1);
		expect(await blobs.usage()).toMatchObject([{ objects: 1, bytes: content.length }]);
		await collect();
		expect(await contents()).toHaveLength(1);
	});

	it("refuses a put of a known size before a byte is read, and others when the bound is reached", async () => {
		const { blobs, collect, contents } = await openStore(store, { maxBytes: 2 * MIB });
		await blobs.put("files/1", pattern(MIB));
		const known = streamOf(pattern(1.5 * MIB));
		expect(await failure(blobs.put("files/2", known.stream, { bytes: 1.5 * MIB }))).toBe("storageFull");
		expect(known.state).toEqual({ pulled: 0, cancelled: true });
		const unknown = streamOf(pattern(20 * MIB));
		expect(await failure(blobs.put("files/2", unknown.stream))).toBe("storageFull");
		expect(unknown.state.cancelled).toBe(true);
		expect(unknown.state.pulled).toBeLessThan(40);
		expect(await failure(blobs.put("files/2", pattern(MIB + 1)))).toBe("storageFull");
		await collect();
		expect(await contents()).toHaveLength(1);
		expect(await blobs.usage()).toEqual([{ store, objects: 1, bytes: MIB, refusedPuts: 3 }]);
		await blobs.put("files/2", pattern(MIB));
	});

	it("does not exceed the bound with puts at the same time", async () => {
		const { blobs } = await openStore(store, { maxBytes: 5 * MIB });
		const puts = Array.from({ length: 6 }, (_, index) =>
			failure(blobs.put(`files/${index}`, streamOf(pattern(2 * MIB)).stream, { bytes: 2 * MIB })),
		);
		expect((await Promise.all(puts)).sort()).toEqual(["none", "none", ...Array(4).fill("storageFull")]);
		expect(await blobs.usage()).toMatchObject([{ objects: 2, bytes: 4 * MIB, refusedPuts: 4 }]);
	});

	it("refuses an object that is larger than the put allows", async () => {
		const { blobs } = await openStore(store);
		expect(await failure(blobs.put("files/1", pattern(11), { maxBytes: 10 }))).toBe("requestTooLarge");
		const { stream, state } = streamOf(pattern(10 * MIB));
		expect(await failure(blobs.put("files/1", stream, { maxBytes: MIB }))).toBe("requestTooLarge");
		expect(state.cancelled).toBe(true);
		expect(await blobs.list()).toEqual({ blobs: [] });
	});

	it("lists in pages, by the bytes of the keys", async () => {
		const { blobs } = await openStore(store);
		const keys = ["a", "a/1", "a/2", "a/é", "a/😀", "b/1"];
		for (const key of keys.toReversed()) await blobs.put(key, text(key));
		const pages: string[][] = [];
		for (let after: string | undefined = ""; after !== undefined; ) {
			const page = await blobs.list({ prefix: "a/", after, limit: 2 });
			pages.push(page.blobs.map(({ key }) => key));
			after = page.after;
		}
		expect(pages).toEqual([
			["a/1", "a/2"],
			["a/é", "a/😀"],
		]);
		expect(await blobs.deletePrefix("a/")).toBe(4);
		expect((await blobs.list()).blobs.map(({ key }) => key)).toEqual(["a", "b/1"]);
	});

	it.each(["", "x".repeat(513), "a\0b", "\ud800"])("refuses the key %j", async (key) => {
		expect(await failure((await openStore(store)).blobs.put(key, text("x")))).toBe("invalidRequest");
	});
});
