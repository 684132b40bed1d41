import { describe, expect, it } from "vitest";
import { boundDepth } from "../../src/http/bound-depth.ts";

describe("boundDepth", () => {
	it("measures nesting, not size", () => {
		expect(boundDepth({ a: [{ b: [1, 2, 3] }] }, 4)).toEqual({ a: [{ b: [1, 2, 3] }] });
		const hostile = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
		expect(() => boundDepth(hostile, 64)).toThrow("nested deeper than 64 levels");
	});
});
