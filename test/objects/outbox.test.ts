import { expect, it } from "vitest";
import { FLUSH_AFTER_MS, Outbox } from "../../src/objects/outbox.ts";
import { settlement } from "./ask.ts";

/** An outbox whose flushes wait until the test wakes them, and how often it had nothing left to do. */
function outbox() {
	const world = {
		time: 0,
		wake: [] as (() => void)[],
		waits: [] as number[],
		running: [] as Promise<unknown>[],
		sent: [] as string[][],
		idle: 0,
	};
	const box = new Outbox(
		{
			now: () => world.time,
			wait: (milliseconds) => {
				world.waits.push(milliseconds);
				return new Promise((resolve) => world.wake.push(resolve));
			},
			waitUntil: (promise) => world.running.push(promise),
		},
		{
			send: async (batch) => {
				world.sent.push(batch.map(({ ticket }) => ticket));
			},
			gaveUp: () => {},
			idle: () => {
				world.idle++;
			},
		},
	);
	const flush = async () => {
		for (const wake of world.wake.splice(0)) wake();
		await Promise.all(world.running);
	};
	return { box, world, flush };
}

it("has nothing left to do when a flush has sent the last", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	expect(world.idle).toBe(0);
	await flush();
	expect(world.idle).toBe(1);
});

it("has nothing left to do when an admission has taken the last, and its flush has ended", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	const batch = box.take();
	// The flush finds nothing to send, but what the admission has may come back.
	await flush();
	expect(world.idle).toBe(0);
	box.confirm(batch);
	expect(world.idle).toBe(1);
});

it("waits for its flush where that is still to wake", async () => {
	const { box, flush, world } = outbox();
	box.add(settlement("a"));
	box.confirm(box.take());
	expect(world.idle).toBe(0);
	world.time += FLUSH_AFTER_MS;
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

it("makes no call for those that came after the ones it waited for, which an admission took", async () => {
	const { box, flush, world } = outbox();
	const wakeUp = async () => {
		for (const wake of world.wake.splice(0)) wake();
		await new Promise((resolve) => setTimeout(resolve));
	};
	box.add(settlement("a"));
	box.confirm(box.take());
	world.time = 80;
	box.add(settlement("b"));
	world.time = FLUSH_AFTER_MS;
	await wakeUp();
	expect(world.sent).toEqual([]);
	expect(world.waits).toEqual([FLUSH_AFTER_MS, 80]);
	world.time += 80;
	await flush();
	expect(world.sent).toEqual([["b"]]);
	expect(world.idle).toBe(1);
});
