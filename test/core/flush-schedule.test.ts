import { describe, expect, it } from "vitest";
import { type Flushes, FlushSchedule } from "../../src/core/flush-schedule.ts";
import { TestTimers } from "../timers.ts";

/** Time passes only in `pass`. A test may set the clock. */
function world() {
	const state = { passed: 0, clockSetBy: 1_000_000_000, hasRequest: true, contexts: 0 };
	const timers = new TestTimers(() => state.passed);
	const wakes: number[] = [];
	const schedule = new FlushSchedule({
		now: () => state.passed + state.clockSetBy,
		wait: timers.wait,
		waitUntil: (promise) => {
			if (!state.hasRequest) throw new Error("no request is running");
			state.contexts++;
			void promise.then(() => state.contexts--);
		},
	});
	/** `steps`: what each step does, in order. `held`: ends each step that the test holds. */
	const owner = (steps: (number | undefined | Error | "held")[]) => {
		const log: [event: string, time: number][] = [];
		const held: ((wait: number | undefined) => void)[] = [];
		const flushes: Flushes = schedule.flushesOf({
			step: async () => {
				const does = steps[log.filter(([event]) => event === "step").length];
				log.push(["step", state.passed]);
				if (does instanceof Error) throw does;
				return does === "held" ? new Promise((resolve) => held.push(resolve)) : does;
			},
			onGiveUp: (cause) => {
				expect(steps).toContain(cause);
				log.push(["given up", state.passed]);
			},
			onEnd: () => void log.push(["end", state.passed]),
		});
		return { flushes, held, log };
	};
	const settle = async (): Promise<void> => {
		for (let turn = 0; turn < 30; turn++) await Promise.resolve();
	};
	const pass = async (ms: number): Promise<void> => {
		const end = state.passed + ms;
		for (;;) {
			await settle();
			const next = timers.dueBy(end);
			if (!next) break;
			state.passed = next.at;
			wakes.push(next.at);
			next.fire();
		}
		state.passed = end;
	};
	return {
		...{ owner, pass, settle, state },
		/** The runtime ends the context that the loop runs in. */
		endContext: () => timers.clear(),
		waiting: () => timers.times.length,
		/** The times at which a timer has fired. */
		wakes: () => wakes,
	};
}

describe("a flush", () => {
	it("makes its steps after the waits, until a step returns none", async () => {
		const { owner, pass, state, waiting } = world();
		const one = owner([7, 0, undefined, undefined]);
		expect(one.flushes.state).toBeUndefined();
		one.flushes.start(5);
		await pass(4);
		expect([one.log, one.flushes.state]).toEqual([[], "waiting"]);
		await pass(100);
		expect(one.log).toEqual([
			["step", 5],
			["step", 12],
			["step", 12],
			["end", 12],
		]);
		expect([one.flushes.state, state.contexts, waiting()]).toEqual([undefined, 0, 0]);
		one.flushes.start(5);
		await pass(5);
		expect(one.log.slice(4)).toEqual([
			["step", 109],
			["end", 109],
		]);
	});

	it("makes its first step at once without a wait", async () => {
		const { owner, settle, state } = world();
		const one = owner([undefined]);
		one.flushes.start(0);
		await settle();
		expect([one.log.length, state.contexts]).toEqual([2, 0]);
	});

	it("shows whether it waits, steps or retries", async () => {
		const { owner, pass, settle } = world();
		const { flushes, held } = owner(["held", new Error("lost")]);
		flushes.start(5);
		expect(flushes.state).toBe("waiting");
		await pass(5);
		expect(flushes.state).toBe("stepping");
		held[0]?.(5);
		await settle();
		expect(flushes.state).toBe("waiting");
		await pass(5);
		expect(flushes.state).toBe("retrying");
	});

	it("tries a failed step four times, with growing waits, and then gives up", async () => {
		const { owner, pass } = world();
		const down = owner(Array(9).fill(new Error("overloaded")));
		down.flushes.start(5);
		await pass(20_000);
		expect(down.log).toEqual([
			["step", 5],
			["step", 405],
			["step", 2_005],
			["step", 8_405],
			["given up", 8_405],
			["end", 8_405],
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

	it("makes no step after a stop, and keeps no request", async () => {
		const { owner, pass, state, waiting } = world();
		const one = owner([undefined]);
		one.flushes.stop();
		one.flushes.start(5);
		expect(state.contexts).toBe(1);
		one.flushes.stop();
		await pass(0);
		expect([one.flushes.state, state.contexts, waiting()]).toEqual([undefined, 0, 0]);
		await pass(100);
		expect(one.log).toEqual([]);
	});

	it("ends silently when another has replaced it, before a step or during one", async () => {
		const { owner, pass, settle } = world();
		const { flushes, held, log } = owner(["held", "held"]);
		flushes.start(5);
		flushes.start(6);
		await pass(6);
		flushes.start(7);
		held[0]?.(undefined);
		await settle();
		expect([log, flushes.state]).toEqual([[["step", 6]], "waiting"]);
		await pass(7);
		held[1]?.(undefined);
		await settle();
		expect(log.slice(1)).toEqual([
			["step", 13],
			["end", 13],
		]);
	});

	it("starts with the next message, if no request is running", async () => {
		const { owner, pass, state } = world();
		const one = owner([undefined]);
		state.hasRequest = false;
		one.flushes.start(0);
		expect(one.flushes.state).toBeUndefined();
		state.hasRequest = true;
		one.flushes.start(5);
		await pass(5);
		expect(one.log.map(([event]) => event)).toEqual(["step", "end"]);
	});

	it("is due when its timer fires, also if the clock has gone back or the timer is early", async () => {
		const { owner, pass, state } = world();
		const one = owner([undefined]);
		one.flushes.start(200);
		await pass(100);
		state.clockSetBy -= 50;
		await pass(100);
		expect(one.log.map(([event]) => event)).toEqual(["step", "end"]);
	});
});

describe("a step that hangs", () => {
	it("has no timer, and is made again only by the next message", async () => {
		const { owner, pass, waiting } = world();
		const { flushes, held, log } = owner(["held", undefined]);
		flushes.start(0);
		await pass(9_999);
		expect([flushes.state, waiting()]).toEqual(["stepping", 0]);
		await pass(60_000);
		expect([flushes.state, waiting(), log]).toEqual([undefined, 0, [["step", 0]]]);
		flushes.start(5);
		await pass(5);
		expect(log.slice(1)).toEqual([
			["step", 70_004],
			["end", 70_004],
		]);
		held[0]?.(5);
		await pass(1_000);
		expect([log.length, flushes.state]).toEqual([3, undefined]);
	});

	it("is made again after ten seconds if the flush of another owner is due, which does not wait for it", async () => {
		const { owner, pass, settle } = world();
		const [hung, other] = [owner(["held", "held"]), owner(Array(60).fill(250))];
		hung.flushes.start(0);
		other.flushes.start(0);
		await pass(1_000);
		expect([hung.flushes.state, other.log.length]).toEqual(["stepping", 5]);
		await pass(8_999);
		expect(hung.log).toEqual([["step", 0]]);
		await pass(1);
		expect(hung.log.slice(1)).toEqual([["step", 10_000]]);
		hung.held[0]?.(undefined);
		await settle();
		expect([hung.log.length, hung.flushes.state]).toEqual([2, "stepping"]);
		hung.held[1]?.(undefined);
		await settle();
		expect(hung.log.slice(2)).toEqual([["end", 10_000]]);
	});
});

describe("a clock that is set back by an hour", () => {
	const setBack = (state: { clockSetBy: number }): void => {
		state.clockSetBy -= 3_600_000;
	};

	it("makes no flush wait longer than its wait", async () => {
		const { owner, pass, state } = world();
		const owners = [250, 1_000, 60_000].map((wait) => ({ wait, ...owner([wait, wait, undefined]) }));
		for (const { flushes, wait } of owners) flushes.start(wait);
		await pass(100);
		setBack(state);
		await pass(200_000);
		for (const { log, wait } of owners) {
			expect(log.map(([event]) => event)).toEqual(["step", "step", "step", "end"]);
			for (const [i, [, time]] of log.slice(0, 3).entries())
				expect(time - (log[i - 1]?.[1] ?? 0)).toBeLessThanOrEqual(wait);
		}
	});

	it("makes those due that wait when the next message starts another one", async () => {
		const { owner, pass, state } = world();
		const [late, next] = [owner([undefined]), owner([undefined])];
		late.flushes.start(3_000);
		await pass(2_900);
		setBack(state);
		next.flushes.start(250);
		await pass(0);
		expect(late.log[0]).toEqual(["step", 2_900]);
		await pass(250);
		expect(next.log[0]).toEqual(["step", 3_150]);
	});

	it("makes a loop lost whose context has ended, and a step that is under way", async () => {
		const { endContext, owner, pass, state } = world();
		const [one, stepping] = [owner([undefined]), owner(["held"])];
		one.flushes.start(250);
		stepping.flushes.start(0);
		await pass(0);
		endContext();
		setBack(state);
		expect([one.flushes.state, stepping.flushes.state]).toEqual([undefined, undefined]);
		one.flushes.start(250);
		await pass(250);
		expect(one.log).toHaveLength(2);
	});

	it("is no clock of another request that is late by a second at most", async () => {
		const { owner, pass, state } = world();
		const [late, next] = [owner([undefined]), owner([undefined])];
		late.flushes.start(3_000);
		state.clockSetBy -= 1_000;
		next.flushes.start(250);
		await pass(250);
		expect([late.log.length, next.log.length]).toEqual([0, 2]);
	});
});

describe("the flushes of many owners", () => {
	it("begin together if they are due together, in one context", async () => {
		const { owner, pass, state, wakes } = world();
		const owners = Array.from({ length: 5 }, () => owner(["held"]));
		for (const [i, { flushes }] of owners.entries()) flushes.start(250 + 250 * (i % 2));
		expect(state.contexts).toBe(1);
		await pass(1_000);
		expect(owners.map(({ log }) => log)).toEqual([250, 500, 250, 500, 250].map((time) => [["step", time]]));
		expect(wakes()).toEqual([250, 500]);
	});

	it("sleep until the first is due, and until an earlier one", async () => {
		const { owner, pass, wakes } = world();
		const [late, early] = [owner([3_000, undefined]), owner([undefined])];
		late.flushes.start(3_000);
		await pass(1_000);
		early.flushes.start(250);
		await pass(6_000);
		expect([early.log[0], late.log]).toEqual([
			["step", 1_250],
			[
				["step", 3_000],
				["step", 6_000],
				["end", 6_000],
			],
		]);
		expect(wakes()).toEqual([1_250, 3_000, 6_000]);
	});

	it("go on in another context with the next message, if the runtime has ended their own", async () => {
		const { endContext, owner, pass } = world();
		const [a, b] = [owner([undefined]), owner([undefined])];
		a.flushes.start(1_000);
		endContext();
		await pass(9_999);
		expect(a.flushes.state).toBe("waiting");
		await pass(1);
		expect([a.flushes.state, a.log]).toEqual([undefined, []]);
		b.flushes.start(0);
		await pass(0);
		expect([a.log.length, b.log.length]).toEqual([2, 2]);
	});

	it("end in the context before, when another one goes on", async () => {
		const { owner, pass, state, waiting } = world();
		const [a, b] = [owner(Array(100).fill(250)), owner([undefined])];
		a.flushes.start(0);
		await pass(10_000);
		b.flushes.start(0);
		expect(state.contexts).toBe(2);
		await pass(0);
		expect(waiting()).toBe(1);
		await pass(1_000);
		expect([a.log.length, b.log.length]).toEqual([45, 2]);
		expect([state.contexts, waiting()]).toEqual([1, 1]);
	});

	it("go on after one of them has stopped", async () => {
		const { owner, pass } = world();
		const [stopped, other] = [owner([250]), owner([undefined])];
		stopped.flushes.start(5);
		other.flushes.start(9);
		stopped.flushes.stop();
		await pass(1_000);
		expect([stopped.log, other.log]).toEqual([
			[],
			[
				["step", 9],
				["end", 9],
			],
		]);
	});
});
