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

	it("charges an account also for turns that never waited, if others wait at their end", () => {
		const { line, pass } = lineOf(1);
		const held = line.enter("slow");
		pass(10_000);
		const first = line.enter("first");
		line.leave(held);
		const slow = line.enter("slow");
		const quick = line.enter("quick");
		line.leave(first);
		expect([quick.state, slow.state]).toEqual(["placed", "waiting"]);
	});

	it("charges an account nothing for turns that end while no turn waits", () => {
		const { line, pass } = lineOf(1);
		const held = line.enter("other");
		const waited = line.enter("busy");
		line.leave(held);
		line.leave(waited);
		for (let calls = 0; calls < 100; calls++) {
			const call = line.enter("busy");
			pass(30_000);
			line.leave(call);
		}
		const last = line.enter("other");
		const quick = [line.enter("quick"), line.enter("quick")] as const;
		const busy = line.enter("busy");
		line.leave(last);
		pass(5);
		line.leave(quick[0]);
		expect([busy.state, quick[1].state]).toEqual(["placed", "waiting"]);
	});

	it.each([
		{ heldMs: 5_000, next: "second" },
		{ heldMs: 6_000, next: "first" },
	])(
		"forgets a half of the time of an account in ten seconds: 8 s, then $heldMs ms of another one",
		(one) => {
			const { line, pass } = lineOf(1);
			const first = line.enter("first");
			const second = line.enter("second");
			pass(8_000);
			line.leave(first);
			const waiting = [line.enter("first"), line.enter("second")];
			pass(one.heldMs);
			line.leave(second);
			expect(waiting.find(({ state }) => state === "placed")?.account).toBe(one.next);
		},
	);

	it("charges an account ten seconds at most, however many places it had for however long", () => {
		const { line, pass } = lineOf(20);
		const many = Array.from({ length: 18 }, () => line.enter("many"));
		pass(5_000);
		const others = Array.from({ length: 20 }, (_, index) => line.enter(`other ${index}`));
		for (const turn of [...many, ...others]) line.leave(turn);
		const seconds = Array.from({ length: 60 }, (_, second) => second).find(() => {
			const places = Array.from({ length: 25 }, (_, index) => line.enter(`new ${index}`));
			const own = line.enter("many");
			pass(1_000);
			for (const turn of places) line.leave(turn);
			const isPlaced = own.state === "placed";
			line.leave(own);
			return isPlaced;
		});
		expect(seconds).toBeLessThan(15);
	});

	it("forgets the time of an account at once if the clock was set back by much", () => {
		const { line, pass } = lineOf(1);
		const held = line.enter("early");
		const other = line.enter("other");
		pass(8_000);
		line.leave(held);
		pass(-3_600_000);
		const waiting = [line.enter("early"), line.enter("other")];
		pass(200);
		line.leave(other);
		expect(waiting.map(({ state }) => state)).toEqual(["placed", "waiting"]);
	});

	it("does not charge an account more after the clock was set back", () => {
		const { line, pass } = lineOf(1);
		let held = line.enter("early");
		const charge = (): void => {
			const waiting = line.enter("early");
			line.leave(held);
			held = waiting;
		};
		pass(8_000);
		charge();
		pass(-3_600_000);
		charge();
		pass(60_000);
		line.leave(held);
		const other = line.enter("other");
		const waiting = [line.enter("early"), line.enter("other")];
		pass(200);
		line.leave(other);
		expect(waiting.map(({ state }) => state)).toEqual(["placed", "waiting"]);
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

	it("refuses the account with the most time, and not a new one, if as many accounts wait as may", () => {
		const { line, pass } = lineOf(2);
		const held = [line.enter("early"), line.enter("late")] as const;
		const first = Array.from({ length: 255 }, (_, index) => line.enter(`first ${index}`));
		pass(3_000);
		line.leave(held[0]);
		const early = line.enter("early");
		const last = line.enter("last");
		const added = line.enter("added");
		expect([early.state, last.state, added.state]).toEqual(["refused", "waiting", "waiting"]);
		expect(line.enter("further").state).toBe("refused");
		expect(first.filter(({ state }) => state === "refused")).toEqual([]);
		expect(line.report().refused).toBe(2);
	});

	it("refuses the latest turn of the account with the most turns, before one of an account with more time", () => {
		const { line, pass } = lineOf(1);
		const held = line.enter("slow");
		line.enter("quick");
		pass(9_000);
		line.leave(held);
		const slow = line.enter("slow");
		const many = Array.from({ length: 255 }, () => line.enter("many"));
		const added = line.enter("added");
		expect([slow.state, many.at(-1)?.state, added.state]).toEqual(["waiting", "refused", "waiting"]);
	});
});
