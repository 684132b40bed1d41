/** How many lines run at the same time. */
import { describe, expect, it } from "vitest";
import { Pace } from "../../../src/jobs/batches/pace.ts";

const SETTINGS = { backends: new Map(), others: { discount: 0.5, concurrency: 8 }, webhooks: new Map() };
const MODEL = "gpt-5.6-sol";

function started() {
	let now = 0;
	const pace = new Pace(() => now);
	const run = (isBusy: boolean): void => pace.start(MODEL, "line", SETTINGS)({ backend: "engine", isBusy });
	const free = (): number => pace.free(MODEL, SETTINGS);
	const live = (firstTokenMs: number): void => {
		const settlement = { backend: "engine", firstTokenMs, outcome: "ok" };
		pace.observer.settled?.({ id: "live" } as never, { settlement } as never);
	};
	const pass = (milliseconds: number): void => {
		now += milliseconds;
	};
	return { pace, run, free, live, pass };
}

describe("the pace of lines", () => {
	it("begins with 4, and grows by one for each round of answers up to the setting", () => {
		const { run, free } = started();
		expect(free()).toBe(4);
		// The first answer names the backend.
		run(false);
		for (let line = 0; line < 4; line++) run(false);
		expect(free()).toBe(5);
		for (let line = 0; line < 100; line++) run(false);
		expect(free()).toBe(8);
	});

	it("is halved for a pause when the backend is busy", () => {
		const { run, free, pass, pace } = started();
		run(false);
		run(true);
		expect(free()).toBe(0);
		expect(pace.pause(MODEL)).toBe(2_000);
		pass(2_000);
		expect(free()).toBe(2);
	});

	it("starts lines one after another for two seconds after a live request", () => {
		const { pace, live, pass } = started();
		expect([pace.gap(), pace.gap()]).toEqual([0, 0]);
		live(10);
		expect([pace.gap(), pace.gap()]).toEqual([0, 4]);
		pass(3);
		expect(pace.gap()).toBe(1);
		pass(1);
		expect([pace.gap(), pace.gap()]).toEqual([0, 4]);
		pass(2_001);
		expect([pace.gap(), pace.gap()]).toEqual([0, 0]);
		live(10);
		pass(-3_600_000);
		expect([pace.gap(), pace.gap()]).toEqual([0, 0]);
	});

	it("pauses no longer than that if the clock is set back", () => {
		const { run, free, pass, pace } = started();
		run(false);
		run(true);
		pass(-3_600_000);
		expect(pace.pause(MODEL)).toBe(0);
		expect(free()).toBe(2);
	});

	it("is halved when the first tokens of live requests come later beside lines than without", () => {
		const { pace, run, free, live, pass } = started();
		run(false);
		for (let request = 0; request < 5; request++) live(100);
		const end = pace.start(MODEL, "line", SETTINGS);
		for (let request = 0; request < 5; request++) live(140);
		expect(free()).toBe(3);
		for (let request = 0; request < 20; request++) live(400);
		expect(free()).toBe(0);
		end({ backend: "engine", isBusy: false });
		pass(60_000);
		expect(free()).toBeGreaterThan(0);
		expect(free()).toBeLessThan(4);
	});
});
