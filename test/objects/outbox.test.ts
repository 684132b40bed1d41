import { expect, it } from "vitest";
import { FLUSH_AFTER_MS, Outbox } from "../../src/objects/outbox.ts";
import { settlement } from "./ask.ts";

/** An outbox whose flushes wait until the test wakes them, and how often it had nothing left to do. */
function outbox() {
	const world = { time: 0, wake: [] as (() => void)[], running: [] as Promise<unknown>[], idle: 0 };
	const box = new Outbox(
		{
			now: () => world.time,
			wait: () => new Promise((resolve) => world.wake.push(resolve)),
			waitUntil: (promise) => world.running.push(promise),
		},
		{
			send: async () => {},
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
