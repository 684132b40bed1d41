import { expect, it } from "vitest";
import { BoundedMap } from "../../src/core/bounded-map.ts";

it("drops all entries before the one that exceeds the maximum", () => {
	const map = new BoundedMap<string, number>(2);
	map.set("a", 1).set("b", 2).set("b", 3);
	expect([...map]).toEqual([
		["a", 1],
		["b", 3],
	]);
	map.set("c", 4);
	expect([...map]).toEqual([["c", 4]]);
});

it("creates a value once", () => {
	const map = new BoundedMap<string, number>(2);
	let created = 0;
	const create = () => ++created;
	expect([map.getOrSet("a", create), map.getOrSet("a", create), map.getOrSet("b", create)]).toEqual([
		1, 1, 2,
	]);
});
