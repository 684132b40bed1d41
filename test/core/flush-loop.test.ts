import { describe, expect, it } from "vitest";
import { FlushLoop } from "../../src/core/flush-loop.ts";

/** `outcomes`: what each step does, in order: the wait that it returns, or the error that it throws. */
function loopOf(outcomes: (number | undefined | Error)[] = []) {
	const state = { time: 1_000_000, steps: 0, ended: 0, running: 0, hasRequest: true };
	const waits: number[] = [];
	const givenUp: unknown[] = [];
	let wake: (() => void)[] = [];
	/** Steps that the test ends. */
	const held: ((wait: number | undefined) => void)[] = [];
	let holds = false;
	const settle = async () => {
		for (let turn = 0; turn < 20; turn++) await Promise.resolve();
	};
	const loop = new FlushLoop(
		{
			now: () => state.time,
			wait: (ms) => {
				waits.push(ms);
				return new Promise((resolve) => wake.push(resolve));
			},
			waitUntil: (promise) => {
				if (!state.hasRequest) throw new Error("no request is running");
				state.running++;
				void promise.then(() => state.running--);
			},
		},
		{
			step: () => {
				const outcome = outcomes[state.steps++];
				if (outcome instanceof Error) return Promise.reject(outcome);
				return holds ? new Promise((resolve) => held.push(resolve)) : Promise.resolve(outcome);
			},
			onGiveUp: (cause) => void givenUp.push(cause),
			onEnd: () => void state.ended++,
		},
	);
	return {
		loop,
		state,
		waits,
		givenUp,
		held,
		settle,
		holdSteps: () => {
			holds = true;
		},
		/** Ends the pending waits. */
		ring: async () => {
			const pending = wake;
			wake = [];
			for (const resolve of pending) resolve();
			await settle();
		},
	};
}

describe("a flush", () => {
	it("ends its wait and makes no step after a stop, and can start again", async () => {
		const { loop, state, settle, ring } = loopOf([undefined]);
		loop.stop();
		loop.start(5);
		expect(state.running).toBe(1);
		loop.stop();
		await settle();
		expect([loop.state, state.steps, state.ended, state.running]).toEqual([undefined, 0, 0, 0]);
		loop.start(5);
		await ring();
		expect([loop.state, state.steps, state.ended]).toEqual([undefined, 1, 1]);
	});

	it("makes its steps after the waits, until a step returns none", async () => {
		const { loop, state, waits, ring } = loopOf([7, 0, undefined]);
		expect(loop.state).toBeUndefined();
		loop.start(5);
		expect(state.steps).toBe(0);
		await ring();
		expect([state.steps, state.ended, loop.state]).toEqual([1, 0, "waiting"]);
		await ring();
		expect([state.steps, state.ended, loop.state]).toEqual([3, 1, undefined]);
		expect(waits).toEqual([5, 7]);
	});

	it("makes its first step at once without a wait", async () => {
		const { loop, state, waits, settle } = loopOf([undefined]);
		loop.start(0);
		await settle();
		expect([state.steps, state.ended, waits]).toEqual([1, 1, []]);
	});

	it("shows whether it waits, steps or retries", async () => {
		const { loop, held, holdSteps, ring, settle } = loopOf([undefined, new Error("lost")]);
		holdSteps();
		loop.start(5);
		expect(loop.state).toBe("waiting");
		await ring();
		expect(loop.state).toBe("stepping");
		held[0]?.(5);
		await settle();
		expect(loop.state).toBe("waiting");
		await ring();
		expect(loop.state).toBe("retrying");
	});

	it("stops after four consecutive failures, with growing waits", async () => {
		const error = new Error("lost");
		const { loop, state, waits, givenUp, ring } = loopOf([error, error, 3, error, error, error, error, 9]);
		loop.start(5);
		for (let turn = 0; turn < 9; turn++) await ring();
		expect(waits).toEqual([5, 400, 1_600, 3, 400, 1_600, 6_400]);
		expect(givenUp).toEqual([error]);
		expect([state.steps, state.ended, loop.state]).toEqual([7, 1, undefined]);
	});

	it("is considered lost after ten seconds", () => {
		const { loop, state } = loopOf();
		loop.start(5);
		state.time += 9_999;
		expect(loop.state).toBe("waiting");
		state.time += 1;
		expect(loop.state).toBeUndefined();
	});

	it("ends silently when another has replaced it, before a step or during one", async () => {
		const { loop, state, held, holdSteps, ring, settle } = loopOf();
		holdSteps();
		loop.start(5);
		loop.start(6);
		await ring();
		expect(state.steps).toBe(1);
		loop.start(7);
		held[0]?.(undefined);
		await settle();
		expect([state.ended, loop.state]).toEqual([0, "waiting"]);
		await ring();
		held[1]?.(undefined);
		await settle();
		expect([state.steps, state.ended, loop.state]).toEqual([2, 1, undefined]);
	});

	it("does not begin without a request", async () => {
		const { loop, state } = loopOf();
		state.hasRequest = false;
		loop.start(5);
		expect(loop.state).toBeUndefined();
	});
});
