import { describe, expect, it } from "vitest";
import { HashRing } from "../../src/pools/hash-ring.ts";

const KEYS = Array.from({ length: 4_000 }, (_, i) => `session ${i}`);
const ringOf = (names: readonly string[]): HashRing<string> => {
	const ring = new HashRing<string>();
	for (const name of names) ring.add(name, name);
	return ring;
};
const firstOf = (ring: HashRing<string>, key: string): string | undefined => {
	for (const member of ring.from(key)) return member;
	return undefined;
};

describe("HashRing", () => {
	it("is empty without members", () => {
		expect([...new HashRing<string>().from("key")]).toEqual([]);
	});

	it("lists all members for a key, the same in every isolate", () => {
		const names = ["a", "b", "c"];
		const order = [...new Set(ringOf(names).from("key"))];
		expect([...order].sort()).toEqual(names);
		expect([...new Set(ringOf(["c", "a", "b"]).from("key"))]).toEqual(order);
	});

	it("has 64 places for each member", () => {
		const members = [...ringOf(["a", "b"]).from("key")];
		expect(members.filter((member) => member === "a")).toHaveLength(64);
		expect(members.filter((member) => member === "b")).toHaveLength(64);
	});

	it("divides the keys between the members", () => {
		const ring = ringOf(["a", "b", "c", "d"]);
		const firsts = KEYS.map((key) => firstOf(ring, key));
		for (const name of ["a", "b", "c", "d"]) {
			const share = firsts.filter((first) => first === name).length / KEYS.length;
			expect(share).toBeGreaterThan(0.15);
			expect(share).toBeLessThan(0.35);
		}
	});

	it("moves only keys to a member that joins, and from one that leaves", () => {
		const ring = ringOf(["a", "b", "c", "d"]);
		const before = KEYS.map((key) => firstOf(ring, key));
		ring.add("e", "e");
		const after = KEYS.map((key) => firstOf(ring, key));
		const moved = after.filter((name, i) => name !== before[i]);
		expect(new Set(moved)).toEqual(new Set(["e"]));
		expect(moved.length / KEYS.length).toBeLessThan(0.3);
		ring.delete("e");
		expect(KEYS.map((key) => firstOf(ring, key))).toEqual(before);
	});
});
