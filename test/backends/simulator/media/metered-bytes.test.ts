import { expect, it } from "vitest";
import { MeteredBytes } from "../../../../src/backends/simulator/media/metered-bytes.ts";

/** How many reads of four bytes pass. */
function readsOf(bytes: Uint8Array<ArrayBuffer>): number {
	const metered = MeteredBytes.over(bytes);
	for (let reads = 0; ; reads++)
		try {
			metered.subarray(0, 4);
		} catch (error) {
			expect(error).toBeInstanceOf(RangeError);
			return reads;
		}
}

it("allows 2,000 reads of a file of any size", () => {
	expect(readsOf(new Uint8Array(64))).toBe(2_000);
	expect(readsOf(new Uint8Array(10_000_000))).toBe(2_000);
});

it("reads the measured bytes, at most 8 MiB at once", () => {
	const outer = Uint8Array.from([9, 1, 2, 3, 9]);
	const metered = MeteredBytes.over(outer.subarray(1, 4));
	expect(metered.length).toBe(3);
	expect([...metered.subarray(1, 3)]).toEqual([2, 3]);
	expect(() => metered.subarray(0, 8 * 1024 * 1024 + 1)).toThrow(RangeError);
});
