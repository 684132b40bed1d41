/** How many lines run at the same time. */
import { describe, expect, it } from "vitest";
import { HoldOwner } from "../../../src/core/process-counts.ts";
import { RuntimeDelay } from "../../../src/core/runtime-delay.ts";
import { Pace } from "../../../src/jobs/batches/pace.ts";

const SETTINGS = { backends: new Map(), others: { discount: 0.5, concurrency: 8 }, webhooks: new Map() };
const WIDE = { discount: 0.5, concurrency: 64 };
const MODEL = "gpt-5.6-sol";

function started(runningRequests?: () => number) {
	let now = 0;
	const pace = new Pace(() => now, runningRequests);
	const run = (isBusy: boolean): void =>
		pace.start(MODEL, "line", SETTINGS).end({ backend: "engine", isBusy });
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
	it("makes the pauses of durable work as long as requests wait for a runtime that is behind, at most half a second", async () => {
		let now = 0;
		const runtimeDelay = new RuntimeDelay(() => now);
		const pace = new Pace(() => now, undefined, runtimeDelay);
		const pauses: number[] = [];
		const wait = async (milliseconds: number): Promise<void> => void pauses.push(milliseconds);
		await pace.giveWay(wait);
		expect(pace.isLive).toBe(false);
		for (const lateMs of [16, 120, 4_000]) {
			runtimeDelay.set(lateMs);
			// The callers wait in the connection guard: the runtime has not seen their requests.
			expect(pace.isLive).toBe(true);
			await pace.giveWay(wait);
		}
		expect(pauses).toEqual([16, 120, 500]);
		pauses.length = 0;
		const lines = Array.from({ length: 4 }, (_, i) => pace.start(MODEL, `line-${i}`, SETTINGS).take(wait));
		await Promise.all(lines);
		expect(pauses).toEqual([500, 1_000, 1_500]);
		now += 5_000;
		expect(pace.isLive).toBe(false);
	});

	it("gives the places of lines that are lost with their run to others", async () => {
		const { pace, free } = started();
		const wait = async (): Promise<void> => {};
		const run = new HoldOwner();
		const lost = run.run(() => Array.from({ length: 4 }, (_, i) => pace.start(MODEL, `line-${i}`, SETTINGS)));
		await Promise.all(lost.slice(1).map((place) => place.take(wait)));
		expect(free()).toBe(0);
		run.release();
		expect(free()).toBe(4);
		const next = Array.from({ length: 4 }, (_, i) => pace.start(MODEL, `next-${i}`, SETTINGS));
		await Promise.all(next.map((place) => place.take(wait)));
		// A line that ends late has no place any more.
		for (const place of lost) place.end({ backend: "engine", isBusy: true });
		run.release();
		expect(free()).toBe(0);
		next[0]?.end({ backend: "", isBusy: true });
		expect(pace.pause(MODEL)).toBeGreaterThan(0);
	});

	it("gives the turns of waiting lines that are lost with their run to the next ones", async () => {
		const { pace } = started();
		const never = () => new Promise<void>(() => {});
		const end = { backend: "", isBusy: false };
		const startAll = (count: number) =>
			Array.from({ length: count }, (_, i) => pace.start(MODEL, `line-${i}`, SETTINGS));
		const holders = startAll(4);
		await Promise.all(holders.map((holder) => holder.take(never)));
		const run = new HoldOwner();
		const takeLost = run.run(() => startAll(3)).map((place) => place.take(never).catch(({ key }) => key));
		const taken: number[] = [];
		for (const [index, place] of startAll(3).entries()) void place.take(never).then(() => taken.push(index));
		// The runtime has ended the run, so the code of the line that this end wakes does not continue.
		holders[0]?.end(end);
		run.release();
		await scheduler.wait(0);
		expect(taken).toEqual([0]);
		holders[1]?.end(end);
		await scheduler.wait(0);
		expect(taken).toEqual([0, 1]);
		// A line that continues after all takes no place, and may not call its backend.
		expect(await takeLost[0]).toBe("outOfCapacity");
		holders[2]?.end(end);
		await scheduler.wait(0);
		expect(taken).toEqual([0, 1, 2]);
	});

	it("gives no place to a line that is lost before it looks for one", async () => {
		const { pace, live } = started();
		live(10);
		const delay = Promise.withResolvers<void>();
		const run = new HoldOwner();
		const lost = run.run(() => Array.from({ length: 4 }, (_, i) => pace.start(MODEL, `line-${i}`, SETTINGS)));
		// The first place is free at once, the others after a delay.
		const taken = lost.map((place) => place.take(() => delay.promise));
		run.release();
		delay.resolve();
		const ends = await Promise.allSettled(taken);
		expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
		const late = async (milliseconds: number): Promise<void> => {
			if (milliseconds === 1_000) throw new Error("no place is free");
		};
		for (let line = 0; line < 4; line++) await pace.start(MODEL, `next-${line}`, SETTINGS).take(late);
	});

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

	it("lets batches without a place try again one after the other, ten a second", () => {
		const { pace, run, pass } = started();
		const delays = (count: number): number[] => Array.from({ length: count }, () => pace.retryDelay(MODEL));
		expect(delays(3)).toEqual([1_000, 1_100, 1_200]);
		pass(1_000);
		expect(delays(2)).toEqual([1_000, 1_100]);
		// The first answer names the backend.
		run(false);
		run(true);
		expect(delays(1)).toEqual([2_000]);
		const latest = delays(400).at(-1);
		expect(latest).toBe(2_000 + 400 * 100);
		pass(-3_600_000);
		expect(delays(2)).toEqual([1_000, 1_100]);
	});

	it("lets lines take places one after another for a second after a live request", async () => {
		const { pace, live, pass } = started();
		const delays = async (count: number): Promise<number[]> => {
			const waited: number[] = [];
			for (let line = 0; line < count; line++)
				await pace.start(MODEL, `line-${line}`, { ...SETTINGS, others: WIDE }).take(async (ms) => {
					waited.push(ms);
				});
			return waited;
		};
		for (let round = 0; round < 40; round++)
			pace.start(MODEL, "l", SETTINGS).end({ backend: "", isBusy: false });
		expect(await delays(1)).toEqual([]);
		live(10);
		expect(await delays(3)).toEqual([20, 40]);
		pass(50);
		expect(await delays(1)).toEqual([10]);
		pass(1_001);
		expect(await delays(1)).toEqual([]);
		live(10);
		pass(-3_600_000);
		expect(await delays(1)).toEqual([]);
		live(10);
		expect(await delays(1)).toEqual([]);
	});

	it("expects live requests for ten times their distance, at least for 100 ms, and while one is under way", () => {
		let running = 0;
		const { pace, live, pass } = started(() => running);
		for (let request = 0; request < 200; request++) {
			pass(50);
			live(10);
		}
		pass(480);
		expect(pace.isLive).toBe(true);
		pass(40);
		expect(pace.isLive).toBe(false);
		for (let request = 0; request < 200; request++) {
			pass(1);
			live(10);
		}
		pass(100);
		expect(pace.isLive).toBe(true);
		pass(1);
		expect(pace.isLive).toBe(false);
		const line = pace.start(MODEL, "line", SETTINGS);
		running = 1;
		expect(pace.isLive).toBe(false);
		running = 2;
		expect(pace.isLive).toBe(true);
		running = 1;
		pass(101);
		expect(pace.isLive).toBe(false);
		line.end({ backend: "engine", isBusy: false });
		expect(pace.isLive).toBe(true);
	});

	it("has smaller groups, and pauses between their calls, beside live requests", async () => {
		const { pace, live } = started();
		const waits: number[] = [];
		const wait = async (milliseconds: number) => void waits.push(milliseconds);
		await pace.giveWay(wait);
		expect([pace.groupLines, pace.gatherMs, waits]).toEqual([64, 30, []]);
		live(10);
		await pace.giveWay(wait);
		expect([pace.groupLines, pace.gatherMs, waits]).toEqual([16, 200, [5]]);
	});

	it("starts fast lines before there is a place, and gives it to the one that waits the longest", async () => {
		const { pace, free, pass } = started();
		const end = { backend: "", isBusy: false };
		const never = () => new Promise<void>(() => {});
		const order: number[] = [];
		const lines = Array.from({ length: 4 }, () => pace.start(MODEL, "a", SETTINGS));
		for (const line of lines) await line.take(never);
		expect(free()).toBe(0);
		const further = Array.from({ length: 3 }, (_, index) => {
			const line = pace.start(MODEL, `b${index}`, SETTINGS);
			void line.take(never).then(() => order.push(index));
			return line;
		});
		await scheduler.wait(0);
		expect(order).toEqual([]);
		pass(25);
		lines[0]?.end(end);
		await scheduler.wait(0);
		expect(order).toEqual([0]);
		// 4 places, 25 ms a line: 16 lines in 100 ms; 6 lines are there.
		expect(free()).toBe(4 + 16 - 6);
		lines[1]?.end(end);
		further[0]?.end(end);
		await scheduler.wait(0);
		expect(order).toEqual([0, 1, 2]);
	});

	it("starts no slow line before there is a place", async () => {
		const { pace, free, pass } = started();
		const line = pace.start(MODEL, "a", SETTINGS);
		await line.take(async () => {});
		pass(5_000);
		line.end({ backend: "", isBusy: false });
		expect(free()).toBe(4);
	});

	it("lets a line try again if the one with the place never ends", async () => {
		const { pace } = started();
		for (let line = 0; line < 4; line++) await pace.start(MODEL, "a", SETTINGS).take(async () => {});
		const waited: number[] = [];
		void pace.start(MODEL, "b", SETTINGS).take(async (ms) => {
			waited.push(ms);
			if (waited.length === 3) await new Promise(() => {});
		});
		await scheduler.wait(0);
		expect(waited).toEqual([1_000, 1_000, 1_000]);
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
		const line = pace.start(MODEL, "line", SETTINGS);
		for (let request = 0; request < 5; request++) live(140);
		expect(free()).toBe(3);
		for (let request = 0; request < 20; request++) live(400);
		expect(free()).toBe(0);
		line.end({ backend: "engine", isBusy: false });
		pass(60_000);
		expect(free()).toBeGreaterThan(0);
		expect(free()).toBeLessThan(4);
	});
});
