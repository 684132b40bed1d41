import { expect, it } from "vitest";
import { type LaneBounds, Lanes } from "../../../src/storage/queue/lanes.ts";

const BOUNDS: LaneBounds = { concurrency: 32, accountConcurrency: 8 };

/** Starts items until none may start. Returns the items that each account runs. */
function started(lanes: Lanes, bounds: LaneBounds): Record<string, number> {
	const running: Record<string, number> = {};
	for (let lane = lanes.next(bounds, 0); lane; lane = lanes.next(bounds, 0)) {
		lanes.start(lane);
		running[lane.account] = (running[lane.account] ?? 0) + 1;
	}
	return running;
}

it("keeps places for accounts that run nothing, while other accounts have more items than there are places", () => {
	const lanes = new Lanes();
	for (const account of ["a", "b", "c", "d"]) lanes.add({ account, kind: "slow" }, 100);
	expect(started(lanes, BOUNDS)).toEqual({ a: 7, b: 7, c: 7, d: 7 });
	lanes.add({ account: "quiet", kind: "line" }, 3);
	// The others still hold their places.
	expect(started(lanes, BOUNDS)).toEqual({ quiet: 1 });
});

it("fills all places when there are as many accounts", () => {
	const lanes = new Lanes();
	for (let account = 0; account < 40; account++) lanes.add({ account: String(account), kind: "line" }, 2);
	started(lanes, BOUNDS);
	expect(lanes.running).toBe(32);
});

it("reserves nothing of a few places", () => {
	const lanes = new Lanes();
	lanes.add({ account: "only", kind: "line" }, 9);
	expect(started(lanes, { concurrency: 4, accountConcurrency: 4 })).toEqual({ only: 4 });
});
