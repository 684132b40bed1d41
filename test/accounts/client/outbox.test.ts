import { expect, it } from "vitest";
import { Outbox } from "../../../src/accounts/client/outbox.ts";
import { FlushSchedule, type FlushServices } from "../../../src/core/flush-schedule.ts";
import { settlement } from "../fixtures.ts";

/** An outbox whose waits the test ends. Counts how often it was idle. */
function outbox(maxSettlements?: number) {
	const world = {
		time: 0,
		wake: [] as (() => void)[],
		waits: [] as number[],
		running: [] as Promise<unknown>[],
		sent: [] as string[][],
		givenUp: [] as string[][],
		isDown: false,
		idle: 0,
	};
	const services: FlushServices = {
		now: () => world.time,
		wait: (milliseconds, signal) => {
			world.waits.push(milliseconds);
			return new Promise((resolve) => {
				world.wake.push(resolve);
				signal?.addEventListener("abort", () => void world.wake.splice(world.wake.indexOf(resolve), 1));
			});
		},
		waitUntil: (promise) => world.running.push(promise),
	};
	const box = new Outbox(
		services,
		{
			flushesOf: (work) => new FlushSchedule(services).flushesOf(work),
			send: async (batch) => {
				world.sent.push(batch.map(({ ticket }) => ticket));
				if (world.isDown) throw new Error("overloaded");
			},
			gridMs: undefined,
			onGiveUp: (_, batch) => void world.givenUp.push(batch.map(({ ticket }) => ticket)),
			idle: () => {
				world.idle++;
			},
		},
		maxSettlements,
	);
	const flush = async () => {
		for (const wake of world.wake.splice(0)) wake();
		// Also the work that other work starts.
		for (const each of world.running) await each;
	};
	/** Runs until the next wait. */
	const wakeUp = async () => {
		for (const wake of world.wake.splice(0)) wake();
		await new Promise((resolve) => setTimeout(resolve));
	};
	return { box, world, flush, wakeUp };
}

it("is idle when a flush has sent the last settlement", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	expect(world.idle).toBe(0);
	await flush();
	expect(world.idle).toBe(1);
});

it("gives up a batch after four failures, and sends it with the next settlement", async () => {
	const { box, flush, wakeUp, world } = outbox();
	world.isDown = true;
	box.add(settlement("a"));
	for (let step = 0; step < 4; step++) await wakeUp();
	expect(world.sent).toEqual([["a"], ["a"], ["a"], ["a"]]);
	expect(world.givenUp).toEqual([["a"]]);
	expect(world.idle).toBe(0);
	world.isDown = false;
	box.add(settlement("b"));
	await flush();
	expect(world.sent.at(-1)).toEqual(["a", "b"]);
	expect(world.idle).toBe(1);
});

it("is idle when an admission has delivered the last settlement and the flush has ended", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	const batch = box.take();
	// The flush finds nothing to send, but the admission may release its batch.
	await flush();
	expect(world.idle).toBe(0);
	box.confirm(batch);
	expect(world.idle).toBe(1);
});

it("is not idle before a waiting flush has ended", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	box.confirm(box.take());
	expect(world.idle).toBe(0);
	world.time += 100;
	await flush();
	expect(world.idle).toBe(1);
});

it("does not wait for a flush whose context has ended", () => {
	const { box, world } = outbox();
	box.add(settlement("a"));
	world.time += 10_000;
	box.confirm(box.take());
	expect(world.idle).toBe(1);
});

it("waits again for later settlements after an admission has delivered the earlier ones", async () => {
	const { box, flush, wakeUp, world } = outbox();
	box.add(settlement("a"));
	box.confirm(box.take());
	world.time = 80;
	box.add(settlement("b"));
	world.time = 100;
	await wakeUp();
	expect(world.sent).toEqual([]);
	expect(world.waits).toEqual([100, 80]);
	world.time += 80;
	await flush();
	expect(world.sent).toEqual([["b"]]);
	expect(world.idle).toBe(1);
});

const HOUR_MS = 3_600_000;

it("sends after its wait although the clock has gone back", async () => {
	const { box, wakeUp, world } = outbox();
	world.time = HOUR_MS;
	box.add(settlement("a"));
	world.time = 0;
	await wakeUp();
	box.add(settlement("b"));
	await wakeUp();
	expect(world.sent).toEqual([["a"], ["b"]]);
});

it("waits at most 100 ms for later settlements if the clock goes back", async () => {
	const { box, wakeUp, world } = outbox();
	world.time = HOUR_MS;
	box.add(settlement("a"));
	box.confirm(box.take());
	box.add(settlement("b"));
	world.time = 0;
	await wakeUp();
	expect(world.waits).toEqual([100, 100]);
	await wakeUp();
	expect(world.sent).toEqual([["b"]]);
});

it("sends at once when it is full although the clock has gone back", async () => {
	const { box, wakeUp, world } = outbox();
	world.time = HOUR_MS;
	for (let i = 1; i < 100; i++) box.add(settlement(`t${i}`));
	world.time = 0;
	box.add(settlement("last"));
	await wakeUp();
	expect(world.sent.map((batch) => batch.length)).toEqual([100]);
	expect(world.waits).toEqual([100]);
});

it("sends what a lost call carried although the clock has gone back", async () => {
	const { box, wakeUp, world } = outbox();
	world.time = HOUR_MS;
	box.add(settlement("a"));
	box.take();
	world.time = 0;
	await wakeUp();
	expect(world.sent).toEqual([["a"]]);
});

it("sends what a lost call carried, also after the flush has ended", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	const batch = box.take();
	await flush();
	expect(world.sent).toEqual([]);
	box.release(batch);
	await flush();
	expect(world.sent).toEqual([["a"]]);
	expect(world.waits).toEqual([100, 100]);
});

it("has nothing to send after an empty call", () => {
	const { box, world } = outbox();
	box.release(box.take());
	expect(world.waits).toEqual([]);
});

it("sends all at once when it is asked to, also what another call carries", async () => {
	const { box, world } = outbox();
	await box.flush();
	expect(world.sent).toEqual([]);
	box.add(settlement("a"));
	box.take();
	box.add(settlement("b"));
	await box.flush();
	expect(world.sent).toEqual([["a", "b"]]);
	await box.flush();
	expect(world.sent).toEqual([["a", "b"]]);
});

it("drops only failed settlements when it is full", async () => {
	const { box, flush, world } = outbox(2);
	box.add(settlement("a", { outcome: "failed" }));
	box.add(settlement("b", { outcome: "failed" }));
	box.add(settlement("c", { outcome: "failed" }));
	box.add(settlement("d", { outcome: "ok" }));
	await flush();
	expect(world.sent).toEqual([["a", "b", "d"]]);
	box.add(settlement("e", { outcome: "failed" }));
	expect(box.take().map(({ ticket }) => ticket)).toEqual(["e"]);
});
