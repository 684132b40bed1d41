import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyBuffer } from "../../../src/backends/transport/body-buffer.ts";

const withLength = (length: unknown) => ({ headers: new Headers({ "content-length": String(length) }) });
const MAX = 100;

describe("BodyBuffer", () => {
	it("returns the body in a buffer of exactly its length, for any announced length", () => {
		const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 });
		const lengths = fc.oneof(fc.integer({ min: -5, max: 250 }), fc.constantFrom("", "x", "1e99", "4.5"));
		fc.assert(
			fc.property(pieces, fc.option(lengths), (pieces, length) => {
				const all = pieces.flatMap((piece) => [...piece]);
				for (const announced of [length, all.length]) {
					const body = new BodyBuffer(
						MAX,
						announced === null ? { headers: new Headers() } : withLength(announced),
					);
					for (const piece of pieces) body.add(piece);
					expect(body.length).toBe(all.length);
					const result = body.take();
					expect([...result]).toEqual(all);
					expect(result.buffer.byteLength).toBe(all.length);
				}
			}),
		);
	});

	it("copies the pieces of a body with a correct length", () => {
		const result = new BodyBuffer(MAX, withLength(4));
		for (const part of [[1, 2], [3], [4]]) {
			const piece = Uint8Array.from(part);
			result.add(piece);
			piece.fill(0);
		}
		expect([...result.take()]).toEqual([1, 2, 3, 4]);
	});

	it("ignores an announced length above the limit", () => {
		const body = new BodyBuffer(MAX, withLength(Number.MAX_SAFE_INTEGER));
		body.add(Uint8Array.of(1));
		expect([...body.take()]).toEqual([1]);
	});
});
