import fc from "fast-check";
import { expect, it } from "vitest";
import { concat } from "../../src/media/bytes.ts";

it("joins the pieces of any cutting, in order, into bytes of their own", () => {
	fc.assert(
		fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), (chunks) => {
			const joined = concat(chunks);
			expect([...joined]).toEqual(chunks.flatMap((chunk) => [...chunk]));
			for (const chunk of chunks) expect(joined.buffer).not.toBe(chunk.buffer);
		}),
	);
});

it("joins views, not the buffers behind them", () => {
	const bytes = Uint8Array.of(1, 2, 3, 4);
	expect(concat([bytes.subarray(3), bytes.subarray(1, 2)])).toEqual(Uint8Array.of(4, 2));
});
