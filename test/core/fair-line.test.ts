/** The order of a line. Time is set by the tests. */
import { describe, expect, it } from "vitest";
import { FairLine, type Turn } from "../../src/core/fair-line.ts";

const never = () => new Promise<void>(() => {});

function lineOf(max: number) {
	let now = 0;
	const line = new FairLine({ name: "calls", max, now: () => now });
	return {
		line,
		pass: (milliseconds: number) => {
			now += milliseconds;
		},
	};
}

describe("a line for places", () => {
	it("prefers an account whose turns end soon to one whose turns last, also if that has waited longer", () => {
		const { line, pass } = lineOf(1);
		let held = line.enter("slow");
		const slow = line.enter("slow");
		const quick = [line.enter("quick"), line.enter("quick"), line.enter("quick")];
		pass(10_000);
		for (const turn of quick) {
			line.leave(held);
			expect([turn.state, slow.state]).toEqual(["placed", "waiting"]);
			pass(5);
			held = turn;
		}
		line.leave(held);
		expect(slow.state).toBe("placed");
	});

	it("serves accounts by the time of their places, so that many short turns do not keep a long one waiting", () => {
		const { line, pass } = lineOf(1);
		let held: Turn = line.enter("flood");
		let waiting = line.enter("flood");
		const long = line.enter("long");
		for (let turns = 0; long.state === "waiting"; turns++) {
			expect(turns).toBeLessThan(3);
			pass(5);
			line.leave(held);
			held = waiting;
			waiting = line.enter("flood");
		}
		expect(long.state).toBe("placed");
	});

	it("refuses a turn after its wait, and gives no place to one that has left", async () => {
		const { line } = lineOf(1);
		const held = line.enter("acme");
		const late = line.enter("acme");
		await line.placed(late, async () => {});
		const left = line.enter("acme");
		line.leave(left);
		const last = line.enter("acme");
		const placed = line.placed(last, never);
		line.leave(held);
		await placed;
		expect([late.state, left.state, last.state]).toEqual(["refused", "left", "placed"]);
		line.leave(last);
		line.leave(last);
		expect(line.report()).toEqual({ name: "calls", used: 0, limit: 1, refused: 1 });
	});
});
