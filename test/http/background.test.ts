import { describe, expect, it } from "vitest";
import { Background } from "../../src/http/background.ts";

/** Time that only waits move. */
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

describe("what goes on behind the answers", () => {
	it("is idle shortly after the last work has ended, also after a failure", async () => {
		const time = world();
		const background = new Background(time);
		const first = Promise.withResolvers<void>();
		const second = Promise.withResolvers<void>();
		background.waitUntil(first.promise);
		background.waitUntil(second.promise);
		expect(time.kept).toHaveLength(2);
		let endedAt = 0;
		const looks = time.wait;
		time.wait = async (milliseconds) => {
			await looks(milliseconds);
			if (time.now() === 500) first.reject(new Error("the engine is gone"));
			if (time.now() === 1000) second.resolve();
			if (time.now() === 1000) endedAt = 1000;
		};
		await background.whenIdle();
		expect(endedAt).toBe(1000);
		expect(time.now()).toBeGreaterThanOrEqual(1200);
		expect(time.now()).toBeLessThan(1400);
	});

	it("waits for what begins while it waits", async () => {
		const time = world();
		const background = new Background(time);
		const late = Promise.withResolvers<void>();
		const looks = time.wait;
		time.wait = async (milliseconds) => {
			await looks(milliseconds);
			if (time.now() === 200) background.waitUntil(late.promise);
			if (time.now() === 2000) late.resolve();
		};
		await background.whenIdle();
		expect(time.now()).toBeGreaterThanOrEqual(2200);
	});

	it("takes a moment where there is nothing", async () => {
		const time = world();
		await new Background(time).whenIdle();
		expect(time.now()).toBe(250);
	});
});
