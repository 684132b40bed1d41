import { expect, it } from "vitest";
import { SessionMemory } from "../../src/pools/session-memory.ts";

it("keeps the 10,000 sessions that were used last", () => {
	const sessions = new SessionMemory<string>();
	const request = { inputTokens: 900, blocks: [1], blockTokens: 512, streamed: true, opening: 5 };
	const replicasOf = (keys: string[]) => keys.map((key) => sessions.get(key)?.replica);
	for (let i = 0; i < 10_000; i++) sessions.set(`s${i}`, "a", request);
	sessions.set("s0", "b", request);
	expect(replicasOf(["s0", "s1"])).toEqual(["b", "a"]);
	sessions.set("s10000", "b", request);
	expect(replicasOf(["s0", "s1", "s2", "s10000"])).toEqual(["b", undefined, "a", "b"]);
	sessions.deleteReplica("a");
	expect(replicasOf(["s0", "s2", "s10000"])).toEqual(["b", undefined, "b"]);
	expect(sessions.get("s0")).toEqual({ replica: "b", inputTokens: 900, blocks: 1, opening: 5 });
});
