import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MinHeap } from "../../src/pools/min-heap.ts";

/** Removes all items, the smallest first. */
function drain(heap: MinHeap<string>): string[] {
	const items: string[] = [];
	for (let top = heap.top; top !== undefined; top = heap.top) {
		items.push(top);
		heap.delete(top);
	}
	return items;
}

describe("MinHeap", () => {
	it("orders items by their keys, and equal keys by the second key", () => {
		const heap = new MinHeap<string>();
		heap.set("c", 2, 1);
		heap.set("a", 1);
		heap.set("b", 2, 0);
		expect(heap.topKey).toBe(1);
		expect(drain(heap)).toEqual(["a", "b", "c"]);
		expect(heap.size).toBe(0);
	});

	it("moves an item whose key changes, up and down", () => {
		const heap = new MinHeap<string>();
		for (const [i, name] of ["a", "b", "c", "d"].entries()) heap.set(name, i);
		heap.set("d", -1);
		heap.set("a", 9);
		expect(drain(heap)).toEqual(["d", "b", "c", "a"]);
	});

	it("refuses to delete an unknown item", () => {
		const heap = new MinHeap<string>();
		heap.set("a", 1);
		expect(heap.delete("b")).toBe(false);
		expect(heap.size).toBe(1);
		expect(new MinHeap<string>().delete("a")).toBe(false);
	});

	it("finds the first item that fulfils a condition, in the order of the keys", () => {
		const heap = new MinHeap<number>();
		for (const key of [5, 3, 8, 1, 9, 2]) heap.set(key, key);
		const visited: number[] = [];
		const found = heap.first((key) => {
			visited.push(key);
			return key > 4;
		});
		expect(found).toBe(5);
		expect(visited).toEqual([1, 2, 3, 5]);
		expect(heap.first(() => false)).toBeUndefined();
		expect(heap.size).toBe(6);
	});

	it("equals a sorted list, whatever changes", () => {
		const change = fc.record({ item: fc.nat(20), key: fc.option(fc.nat(10)) });
		fc.assert(
			fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
				const heap = new MinHeap<string>();
				const keys = new Map<string, number>();
				for (const { item, key } of changes) {
					const name = String(item);
					if (key === null) expect(heap.delete(name)).toBe(keys.delete(name));
					else {
						heap.set(name, key, item);
						keys.set(name, key);
					}
				}
				const sorted = [...keys]
					.sort(([a, i], [b, j]) => i - j || Number(a) - Number(b))
					.map(([name]) => name);
				expect(drain(heap)).toEqual(sorted);
			}),
		);
	});
});
