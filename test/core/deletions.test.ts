import { describe, expect, it } from "vitest";
import { deleteTogether } from "../../src/core/deletions.ts";

describe("deleteTogether", () => {
	async function calls(items: readonly string[], fails: (items: readonly string[]) => boolean) {
		const called: string[] = [];
		const failed: string[] = [];
		const deletion = async (some: readonly string[]): Promise<void> => {
			called.push(some.join(""));
			if (fails(some)) throw new Error(`not ${some.join("")}`);
		};
		await deleteTogether(items, deletion, (item, thrown) => failed.push(`${item}: ${thrown}`));
		return { called, failed };
	}

	it.each([
		["nothing for no items", [], () => true, [], []],
		["one call for one item", ["a"], () => false, ["a"], []],
		["one call for one item that fails", ["a"], () => true, ["a"], ["a: Error: not a"]],
		["one call for all", ["a", "b"], () => false, ["ab"], []],
		[
			"a call for each after one for all has failed",
			["a", "b"],
			(some: readonly string[]) => some.includes("b"),
			["ab", "a", "b"],
			["b: Error: not b"],
		],
	])("makes %s", async (_, items, fails, called, failed) => {
		expect(await calls(items, fails)).toEqual({ called, failed });
	});
});
