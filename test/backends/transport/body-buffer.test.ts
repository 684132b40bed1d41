import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Gathered } from "../../../src/backends/transport/body-buffer.ts";

const told = (length: unknown) => ({ headers: new Headers({ "content-length": String(length) }) });
const MAX = 100;

describe("Gathered", () => {
	it("gives the body, in a buffer of its own length, whatever was told of it", () => {
		const pieces = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 8 });
		const lengths = fc.oneof(fc.integer({ min: -5, max: 250 }), fc.constantFrom("", "x", "1e99", "4.5"));
		fc.assert(
			fc.property(pieces, fc.option(lengths), (pieces, length) => {
				const all = pieces.flatMap((piece) => [...piece]);
				for (const of of [length, all.length]) {
					const body = new Gathered(MAX, of === null ? { headers: new Headers() } : told(of));
					for (const piece of pieces) body.add(piece);
					expect(body.length).toBe(all.length);
					const whole = body.take();
					expect([...whole]).toEqual(all);
					expect(whole.buffer.byteLength).toBe(all.length);
				}
			}),
		);
	});

	it("holds a body once whose length was told", () => {
		const whole = new Gathered(MAX, told(4));
		for (const part of [[1, 2], [3], [4]]) {
			const piece = Uint8Array.from(part);
			whole.add(piece);
			// Nothing of it is kept.
			piece.fill(0);
		}
		expect([...whole.take()]).toEqual([1, 2, 3, 4]);
	});

	it("believes no length above its bound", () => {
		const body = new Gathered(MAX, told(Number.MAX_SAFE_INTEGER));
		body.add(Uint8Array.of(1));
		expect([...body.take()]).toEqual([1]);
	});
});
