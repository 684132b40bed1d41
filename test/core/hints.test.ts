import { afterEach, expect, it, vi } from "vitest";
import { hintOnce } from "../../src/core/hints.ts";

afterEach(() => vi.restoreAllMocks());

it("writes one line of a bounded length, whatever names a caller chooses", () => {
	const warn = vi.spyOn(console, "warn").mockReturnValue();
	const hint = hintOnce();
	hint("AI Search", ["a\r\nb\u001b[2Jc\u009b1md\u2028e\u202ef: unknown", `${"x".repeat(100_000)}: unknown`]);
	expect(warn.mock.calls).toEqual([
		["AI Search: a��b�[2Jc�1md�e�f: unknown"],
		[`AI Search: ${"x".repeat(489)}`],
	]);
});

it("writes each sentence once, and only so many", () => {
	const warn = vi.spyOn(console, "warn").mockReturnValue();
	const hint = hintOnce();
	hint("a", ["one", "two"]);
	hint("a", ["two"]);
	hint("b", ["two"]);
	expect(warn.mock.calls).toEqual([["a: one"], ["a: two"], ["b: two"]]);
	hint(
		"c",
		Array.from({ length: 1_000 }, (_, n) => `${n}`),
	);
	expect(warn).toHaveBeenCalledTimes(100);
});
