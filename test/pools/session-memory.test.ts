import { expect, it } from "vitest";
import { SessionMemory } from "../../src/pools/session-memory.ts";

it("keeps the 10,000 sessions that were used last", () => {
	const sessions = new SessionMemory<string>();
	for (let i = 0; i < 10_000; i++) sessions.set(`s${i}`, "a");
	sessions.set("s0", "b");
	expect(["s0", "s1"].map((key) => sessions.get(key))).toEqual(["b", "a"]);
	sessions.set("s10000", "b");
	expect(["s0", "s1", "s2", "s10000"].map((key) => sessions.get(key))).toEqual(["b", undefined, "a", "b"]);
	sessions.deleteReplica("a");
	expect(["s0", "s2", "s10000"].map((key) => sessions.get(key))).toEqual(["b", undefined, "b"]);
});
