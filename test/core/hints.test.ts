import { afterEach, expect, it, vi } from "vitest";
import { hintOnce } from "../../src/core/hints.ts";

afterEach(() => vi.restoreAllMocks());

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
