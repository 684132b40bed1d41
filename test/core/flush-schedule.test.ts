import { describe, expect, it } from "vitest";
import type { Flushes } from "../../src/core/flush-loop.ts";
import { FlushSchedule } from "../../src/core/flush-schedule.ts";

const GRID_MS = 250;

/** A schedule whose time the test sets. Each step of an owner takes the next of its outcomes: a wait, the end, an error, or no answer. */
function world() {
	const state = { time: 1_000_100, hasRequest: true, contexts: 0 };
	let timers: { at: number; fire(): void }[] = [];
	const schedule = new FlushSchedule(
		{
			now: () => state.time,
			wait: (ms) => new Promise((fire) => timers.push({ at: state.time + ms, fire })),
			waitUntil: () => {
				if (!state.hasRequest) throw new Error("no request is running");
				state.contexts++;
			},
		},
		GRID_MS,
	);
	const owner = (outcomes: (number | undefined | Error | "hangs")[]) => {
		const log: [event: string, time: number][] = [];
		const flushes: Flushes = schedule.flushesOf({
			step: async () => {
				log.push(["step", state.time]);
				const outcome = outcomes.shift();
				if (outcome === "hangs") return new Promise(() => {});
				if (outcome instanceof Error) throw outcome;
				return outcome;
			},
			onGiveUp: () => void log.push(["given up", state.time]),
			onEnd: () => void log.push(["end", state.time]),
		});
		return { flushes, log };
	};
	const settle = async () => {
		for (let turn = 0; turn < 20; turn++) await Promise.resolve();
	};
	const pass = async (ms: number) => {
		const end = state.time + ms;
		for (;;) {
			await settle();
			const [next] = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
			if (!next) break;
			state.time = next.at;
			timers = timers.filter((timer) => timer !== next);
			next.fire();
		}
		state.time = end;
	};
	return {
		state,
		owner,
		pass,
		endContext: () => {
			timers = [];
		},
		waiting: () => timers.length,
	};
}

describe("a schedule of flushes", () => {
	it("begins the steps of all owners that are due at the same multiple of its time, in one context", async () => {
		const { owner, pass, state, waiting } = world();
		const [a, b] = [owner([300, undefined]), owner([undefined])];
		a.flushes.start(0);
		b.flushes.start(200);
		expect(waiting()).toBe(1);
		await pass(2_000);
		expect(a.log).toEqual([
			["step", 1_000_250],
			["step", 1_000_750],
			["end", 1_000_750],
		]);
		expect(b.log).toEqual([
			["step", 1_000_500],
			["end", 1_000_500],
		]);
		expect([a.flushes.isRunning, b.flushes.isRunning, waiting()]).toEqual([false, false, 0]);
		expect(state.contexts).toBeGreaterThan(0);
	});

	it("does not wait for an owner whose step hangs, and makes its step again after ten seconds", async () => {
		const { owner, pass } = world();
		const [hung, other] = [owner(["hangs", undefined]), owner(Array(60).fill(250))];
		hung.flushes.start(0);
		other.flushes.start(0);
		await pass(1_000);
		expect(hung.flushes.isRunning).toBe(true);
		expect(other.log).toHaveLength(4);
		await pass(9_500);
		expect(hung.log.map(([event]) => event)).toEqual(["step", "step", "end"]);
	});

	it("tries a failed step four times, with growing waits, and then gives up", async () => {
		const { owner, pass } = world();
		const down = owner(Array(9).fill(new Error("overloaded")));
		down.flushes.start(0);
		await pass(20_000);
		expect(down.log).toEqual([
			["step", 1_000_250],
			["step", 1_000_750],
			["step", 1_002_500],
			["step", 1_009_000],
			["given up", 1_009_000],
			["end", 1_009_000],
		]);
	});

	it("counts failures from the latest success", async () => {
		const { owner, pass } = world();
		const error = new Error("overloaded");
		const shaky = owner([error, error, error, 250, ...Array(9).fill(error)]);
		shaky.flushes.start(0);
		await pass(40_000);
		expect(shaky.log.map(([event]) => event)).toEqual([...Array(8).fill("step"), "given up", "end"]);
	});

	it("goes on with all owners in another context, if the runtime has ended its own", async () => {
		const { endContext, owner, pass } = world();
		const [a, b] = [owner([undefined]), owner([undefined])];
		a.flushes.start(1_000);
		endContext();
		await pass(9_999);
		expect(a.flushes.isRunning).toBe(true);
		await pass(1);
		expect([a.flushes.isRunning, a.log]).toEqual([false, []]);
		b.flushes.start(0);
		await pass(GRID_MS);
		expect([a.log.length, b.log.length]).toEqual([2, 2]);
	});

	it("ends in the context before, when another one goes on", async () => {
		const { owner, pass, waiting } = world();
		const [a, b] = [owner(Array(100).fill(GRID_MS)), owner([undefined])];
		a.flushes.start(0);
		await pass(10_000);
		b.flushes.start(0);
		expect(waiting()).toBe(2);
		await pass(1_000);
		expect([a.log.length, b.log.length, waiting()]).toEqual([44, 2, 1]);
	});

	it("starts with the next message, if no request is running", async () => {
		const { owner, pass, state } = world();
		const one = owner([undefined]);
		state.hasRequest = false;
		one.flushes.start(0);
		expect(one.flushes.isRunning).toBe(false);
		state.hasRequest = true;
		one.flushes.start(0);
		await pass(GRID_MS);
		expect(one.log.map(([event]) => event)).toEqual(["step", "end"]);
	});

	it("starts again at once after the last owner has ended", async () => {
		const { owner, pass } = world();
		const one = owner([undefined, undefined]);
		one.flushes.start(0);
		await pass(2 * GRID_MS);
		one.flushes.start(0);
		await pass(GRID_MS);
		expect(one.log.map(([event]) => event)).toEqual(["step", "end", "step", "end"]);
	});

	it("makes no step for an owner that has stopped", async () => {
		const { owner, pass } = world();
		const [stopped, other] = [owner([250]), owner([undefined])];
		stopped.flushes.start(0);
		other.flushes.start(0);
		stopped.flushes.stop();
		await pass(1_000);
		expect([stopped.log, other.log.length]).toEqual([[], 2]);
	});
});
