import { describe, expect, it } from "vitest";
import { RunningRequests } from "../../src/core/running-requests.ts";
import { Background } from "../../src/http/background.ts";

/** A clock that advances only while the code waits. */
function world() {
	let now = 0;
	const kept: Promise<unknown>[] = [];
	return {
		kept,
		now: () => now,
		async wait(milliseconds: number) {
			now += milliseconds;
		},
		waitUntil: (work: Promise<unknown>) => void kept.push(work.catch(() => {})),
	};
}

describe("background work", () => {
	it("is idle shortly after the last work has ended, also after a failure", async () => {
		const time = world();
		const background = new Background(time);
		const first = Promise.withResolvers<void>();
		const second = Promise.withResolvers<void>();
		background.waitUntil(first.promise);
		background.waitUntil(second.promise);
		expect(time.kept).toHaveLength(2);
		let endedAt = 0;
		const advance = time.wait;
		time.wait = async (milliseconds) => {
			await advance(milliseconds);
			if (time.now() === 500) first.reject(new Error("the engine is gone"));
			if (time.now() === 1000) second.resolve();
			if (time.now() === 1000) endedAt = 1000;
		};
		await background.whenIdle();
		expect(endedAt).toBe(1000);
		expect(time.now()).toBeGreaterThanOrEqual(1200);
		expect(time.now()).toBeLessThan(1400);
	});

	it("waits for work that starts during the wait", async () => {
		const time = world();
		const background = new Background(time);
		const late = Promise.withResolvers<void>();
		const advance = time.wait;
		time.wait = async (milliseconds) => {
			await advance(milliseconds);
			if (time.now() === 200) background.waitUntil(late.promise);
			if (time.now() === 2000) late.resolve();
		};
		await background.whenIdle();
		expect(time.now()).toBeGreaterThanOrEqual(2200);
	});

	it("waits 250 ms if there is no work", async () => {
		const time = world();
		await new Background(time).whenIdle();
		expect(time.now()).toBe(250);
	});
});

it("waits for work that starts when the gateway closes", async () => {
	const time = world();
	const background = new Background(time);
	const { promise, resolve } = Promise.withResolvers<void>();
	background.onClose(() => promise);
	background.close();
	const advance = time.wait;
	time.wait = async (milliseconds) => {
		await advance(milliseconds);
		if (time.now() === 1000) resolve();
	};
	await background.whenIdle();
	expect(time.now()).toBeGreaterThanOrEqual(1200);
});

it("counts the requests of an account, and gives a place to one that waits", async () => {
	const time = { ...world(), wait: () => new Promise<void>(() => {}) };
	const runningRequests = new RunningRequests(2, () => Date.now());
	const background = new Background({ ...time, runningRequests });
	const { promise, resolve } = Promise.withResolvers<void>();
	const next = Promise.withResolvers<void>();
	expect(background.waitUntil(promise, "acme")).toBeUndefined();
	const place = background.waitUntil(next.promise, "acme");
	expect(runningRequests.size).toBe(1);
	resolve();
	await place;
	expect(runningRequests.size).toBe(1);
	next.resolve();
	await next.promise;
	expect(runningRequests.size).toBe(0);
	expect(time.kept).toHaveLength(2);
});
