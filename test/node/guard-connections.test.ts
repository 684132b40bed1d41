import { expect, it } from "vitest";
import { guardConnectionsOf } from "../../cli/workers.ts";

it("each guard has the connections that its worker can open, or its part of them if others may send requests there", () => {
	// 60% of 1,024 files without the 64 of the process, and four for each connection.
	expect(guardConnectionsOf(1_024, { count: 2, separateLarge: false })).toBe(144);
	expect(guardConnectionsOf(1_024, { count: 2, separateLarge: true })).toBe(72);
	expect(guardConnectionsOf(1_024, { count: 5, separateLarge: true })).toBe(28);
});
