import { expect, it } from "vitest";
import { BoundedSet } from "../../src/core/bounded-set.ts";

it("has the newest members, and drops none for a member that it has", () => {
	const members = new BoundedSet<string>(2);
	members.add("a").add("b").add("a");
	expect([...members]).toEqual(["a", "b"]);
	members.add("c");
	expect([...members]).toEqual(["b", "c"]);
	members.delete("b");
	members.add("d");
	expect([...members]).toEqual(["c", "d"]);
});
