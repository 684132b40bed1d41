import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PrefixIndex } from "../../src/pools/prefix-index.ts";

interface Engine {
	name: string;
}
const engine = (name: string): Engine => ({ name });

const indexOf = (engines: readonly Engine[], capacity = 100, maxPairs = 1_000_000) => {
	const index = new PrefixIndex<Engine>({ maxPairs });
	for (const one of engines) index.setCapacity(one, capacity);
	return index;
};

describe("PrefixIndex", () => {
	it("counts the blocks from the beginning that a replica has", () => {
		const a = engine("a");
		const index = indexOf([a]);
		index.add(a, [1, 2, 3]);
		expect(index.match(a, [1, 2, 3, 4])).toBe(3);
		expect(index.match(a, [1, 2, 9])).toBe(2);
		expect(index.match(a, [7, 2])).toBe(0);
		expect(index.match(a, [])).toBe(0);
		expect(index.match(engine("unknown"), [1])).toBe(0);
	});

	it("returns the longest matches first, and no replica twice", () => {
		const [a, b, c, d] = ["a", "b", "c", "d"].map(engine) as [Engine, Engine, Engine, Engine];
		const index = indexOf([a, b, c, d]);
		index.add(a, [1]);
		index.add(b, [1, 2, 3]);
		index.add(c, [1, 2]);
		index.add(d, [8, 9]);
		expect(index.longest([1, 2, 3, 4], 4)).toEqual([
			{ replica: b, blocks: 3 },
			{ replica: c, blocks: 2 },
			{ replica: a, blocks: 1 },
		]);
		expect(index.longest([1, 2, 3, 4], 2).map(({ replica }) => replica.name)).toEqual(["b", "c"]);
		expect(index.longest([5], 4)).toEqual([]);
		expect(index.longest([], 4)).toEqual([]);
	});

	it("drops the blocks that were used longest ago, the end of a prompt before its beginning", () => {
		const a = engine("a");
		const index = indexOf([a], 3);
		index.add(a, [1, 2]);
		index.add(a, [1, 5]);
		expect(index.match(a, [1, 2])).toBe(2);
		index.add(a, [1, 6]);
		expect(index.match(a, [1, 2])).toBe(1);
		expect(index.match(a, [1, 5])).toBe(2);
		expect(index.size).toBe(3);
	});

	it("keeps the beginning of a prompt that is longer than the cache", () => {
		const a = engine("a");
		const index = indexOf([a], 2);
		index.add(a, [1, 2, 3, 4]);
		expect(index.match(a, [1, 2, 3, 4])).toBe(2);
	});

	it("forgets a replica that is deleted", () => {
		const [a, b] = [engine("a"), engine("b")];
		const index = indexOf([a, b]);
		index.add(a, [1, 2]);
		index.add(b, [1]);
		index.delete(a);
		expect(index.longest([1, 2], 4)).toEqual([{ replica: b, blocks: 1 }]);
		expect(index.size).toBe(1);
		index.add(a, [1, 2]);
		expect(index.size).toBe(1);
	});

	it("drops blocks when a cache is smaller than expected", () => {
		const a = engine("a");
		const index = indexOf([a]);
		index.add(a, [1, 2, 3, 4]);
		index.setCapacity(a, 1);
		expect(index.match(a, [1, 2, 3, 4])).toBe(1);
	});

	it("shares its bound between the replicas", () => {
		const engines = ["a", "b"].map(engine);
		const index = indexOf(engines, 100, 10);
		for (const [i, one] of engines.entries())
			index.add(
				one,
				Array.from({ length: 50 }, (_, block) => i * 1000 + block),
			);
		expect(index.size).toBe(10);
	});

	it("equals a search through all blocks of all replicas", () => {
		// Prompts of a tree, as hashes of blocks form one.
		const path = fc.array(fc.nat(2), { minLength: 1, maxLength: 6 });
		const blocksOf = (steps: number[]) => steps.map((_, i) => Number(`1${steps.slice(0, i + 1).join("")}`));
		fc.assert(
			fc.property(
				fc.array(fc.tuple(fc.nat(2), path), { maxLength: 60 }),
				path,
				fc.integer({ min: 2, max: 20 }),
				(uses, asked, capacity) => {
					const engines = ["a", "b", "c"].map(engine);
					const index = indexOf(engines, capacity);
					// The same lists without an index: the block that was used last is at the end.
					const lists = engines.map((): number[] => []);
					for (const [i, steps] of uses) {
						const one = engines[i];
						const list = lists[i];
						if (!one || !list) throw new Error("no such engine");
						const blocks = blocksOf(steps);
						index.add(one, blocks);
						for (const block of blocks.toReversed()) {
							if (list.includes(block)) list.splice(list.indexOf(block), 1);
							list.push(block);
						}
						list.splice(0, list.length - capacity);
					}
					const blocks = blocksOf(asked);
					const matches = lists.map((list) => {
						const missing = blocks.findIndex((block) => !list.includes(block));
						return missing < 0 ? blocks.length : missing;
					});
					expect(engines.map((one) => index.match(one, blocks))).toEqual(matches);
					const found = index.longest(blocks, 3).map((holder) => holder.blocks);
					expect(found).toEqual(matches.filter((match) => match > 0).sort((a, b) => b - a));
					expect(index.size).toBe(lists.reduce((sum, list) => sum + list.length, 0));
				},
			),
		);
	});
});
