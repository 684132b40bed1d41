import { describe, expect, it } from "vitest";
import {
	type AdapterLoads,
	RefusedAdapter,
	ReplicaAdapters,
} from "../../../../src/backends/openai/adapters/replica-adapters.ts";
import { AiError } from "../../../../src/core/errors.ts";

interface Started {
	milliseconds: number;
	onTime(): void;
}

/** An engine whose calls are recorded. The time is set. */
function engine(load: (adapter: string) => Promise<void> = async () => {}) {
	const calls: string[] = [];
	const clock = { now: 0 };
	const timers = new Set<Started>();
	const loads: AdapterLoads = {
		now: () => clock.now,
		startTimer: (milliseconds, onTime) => {
			const timer = { milliseconds, onTime };
			timers.add(timer);
			return { cancel: () => void timers.delete(timer) };
		},
		left: new AbortController().signal,
		waitMs: 60_000,
		late: () => new AiError("outOfCapacity", "late"),
		waitUntil: () => {},
		load: async (adapter) => {
			calls.push(`load ${adapter}`);
			await load(adapter);
		},
		unload: async (adapter) => void calls.push(`unload ${adapter}`),
	};
	return { calls, clock, loads, timers };
}

describe("the adapters of a replica", () => {
	it("are loaded once, and again after the engine has forgotten them", async () => {
		const { calls, loads } = engine();
		const adapters = new ReplicaAdapters();
		await adapters.use("a", 2, loads);
		await adapters.use("a", 2, loads);
		expect([calls, adapters.has("a")]).toEqual([["load a"], true]);
		adapters.forget("a");
		expect(adapters.has("a")).toBe(false);
		await adapters.use("a", 2, loads);
		expect(calls).toEqual(["load a", "load a"]);
	});

	it("make room by the one that was used least recently", async () => {
		const { calls, loads } = engine();
		const adapters = new ReplicaAdapters();
		for (const adapter of ["a", "b", "a"]) (await adapters.use(adapter, 2, loads))();
		await adapters.use("c", 2, loads);
		expect(calls).toEqual(["load a", "load b", "unload b", "load c"]);
	});

	it("in use stay: a further one is refused with 3040 until one is over", async () => {
		const { loads } = engine();
		const adapters = new ReplicaAdapters();
		const end = await adapters.use("a", 1, loads);
		await expect(adapters.use("b", 1, loads)).rejects.toMatchObject({ code: 3040 });
		end();
		// A second end of the same use changes nothing.
		end();
		await adapters.use("b", 1, loads);
		expect([adapters.has("a"), adapters.has("b")]).toEqual([false, true]);
	});

	it("a load that does not end: its requests fail after the wait, requests for other adapters do not wait", async () => {
		const hung = Promise.withResolvers<void>();
		const { calls, clock, loads, timers } = engine((adapter) =>
			adapter === "a" ? hung.promise : Promise.resolve(),
		);
		const adapters = new ReplicaAdapters();
		const first = adapters.use("a", 2, loads);
		clock.now = 5_000;
		const second = adapters.use("a", 2, loads);
		(await adapters.use("b", 2, loads))();
		(await adapters.use("c", 2, loads))();
		expect(timers.size).toBe(2);
		clock.now = 60_000;
		for (const { onTime } of timers) onTime();
		for (const late of [first, second]) await expect(late).rejects.toMatchObject({ code: 3040 });
		// The load has lasted for as long as a request waits.
		await expect(async () => adapters.use("a", 2, loads)).rejects.toMatchObject({ code: 3040 });
		expect(timers.size).toBe(0);
		hung.resolve();
		await expect.poll(() => adapters.has("a")).toBe(true);
		await adapters.use("a", 2, loads);
		expect(calls).toEqual(["load a", "load b", "unload b", "load c"]);
	});

	it("wait for a load in the only place, and for one that hangs no longer than 10 seconds", async () => {
		const loadsOf = new Map(["a", "b", "c"].map((name) => [name, Promise.withResolvers<void>()]));
		const { calls, clock, loads, timers } = engine(
			(adapter) => loadsOf.get(adapter)?.promise ?? Promise.resolve(),
		);
		const waits = () => [...timers].map(({ milliseconds }) => milliseconds);
		const adapters = new ReplicaAdapters();
		const used = ["a", "b", "c"].map((name) => adapters.use(name, 1, loads));
		expect(waits()).toEqual([60_000, 10_000, 10_000]);
		expect(calls).toEqual(["load a"]);
		// A load that ends makes place for one of the others, and a request that uses its adapter does not lose it.
		loadsOf.get("a")?.resolve();
		const end = await used[0];
		await expect(used[1]).rejects.toMatchObject({ code: 3040 });
		await expect(used[2]).rejects.toMatchObject({ code: 3040 });
		end?.();
		const [second, third] = ["b", "c"].map((name) => adapters.use(name, 1, loads));
		await expect.poll(() => calls).toEqual(["load a", "unload a", "load b"]);
		const fire = () => {
			const [, waiting] = timers;
			if (!waiting) throw new Error("expected the timer of the third request");
			waiting.onTime();
		};
		clock.now = 9_999;
		fire();
		await expect.poll(waits).toEqual([60_000, 1]);
		expect(calls).toEqual(["load a", "unload a", "load b"]);
		clock.now = 10_000;
		fire();
		await expect.poll(() => calls).toEqual(["load a", "unload a", "load b", "load c"]);
		loadsOf.get("c")?.resolve();
		(await third)?.();
		loadsOf.get("b")?.resolve();
		(await second)?.();
		expect(timers.size).toBe(0);
	});

	it("count the time of a load from its place, not from the wait for it", async () => {
		const hung = Promise.withResolvers<void>();
		const slow = Promise.withResolvers<void>();
		const { calls, clock, loads, timers } = engine((adapter) => (adapter === "a" ? hung : slow).promise);
		const adapters = new ReplicaAdapters();
		adapters.use("a", 1, loads).catch(() => {});
		const second = adapters.use("b", 1, { ...loads, waitMs: 30_000 });
		clock.now = 10_000;
		for (const { milliseconds, onTime } of timers) if (milliseconds === 10_000) onTime();
		await expect.poll(() => calls).toEqual(["load a", "load b"]);
		clock.now = 39_000;
		const third = adapters.use("b", 1, { ...loads, waitMs: 30_000 });
		// The load has lasted for 29 seconds.
		expect([...timers].map(({ milliseconds }) => milliseconds)).toEqual([60_000, 30_000, 1_000]);
		slow.resolve();
		await Promise.all([second, third]);
		expect(calls).toEqual(["load a", "load b"]);
	});

	it("are loaded by another request if the first one leaves while it waits for a place", async () => {
		const hung = Promise.withResolvers<void>();
		const { calls, clock, loads, timers } = engine((adapter) =>
			adapter === "a" ? hung.promise : Promise.resolve(),
		);
		const adapters = new ReplicaAdapters();
		adapters.use("a", 1, loads).catch(() => {});
		// The timer of a caller who has left does not fire.
		adapters.use("b", 1, { ...loads, startTimer: () => ({ cancel() {} }) }).catch(() => {});
		const joined = adapters.use("b", 1, loads);
		clock.now = 10_000;
		for (const { milliseconds, onTime } of timers) if (milliseconds === 10_000) onTime();
		await joined;
		expect(calls).toEqual(["load a", "load b"]);
	});

	it("are refused if the wait for a place has lasted too long", async () => {
		const hung = Promise.withResolvers<void>();
		const { calls, clock, loads, timers } = engine(() => hung.promise);
		const adapters = new ReplicaAdapters();
		adapters.use("a", 1, loads).catch(() => {});
		const late = adapters.use("b", 1, { ...loads, waitMs: 5_000 });
		expect([...timers].map(({ milliseconds }) => milliseconds)).toEqual([60_000, 5_000]);
		clock.now = 5_000;
		for (const { milliseconds, onTime } of timers) if (milliseconds === 5_000) onTime();
		await expect(late).rejects.toMatchObject({ description: "late" });
		expect(calls).toEqual(["load a"]);
	});

	it("that the engine has refused are not loaded for a minute", async () => {
		const failure = new AiError("invalidInput", "no such rank");
		const { calls, clock, loads } = engine(async () => {
			throw new RefusedAdapter(failure);
		});
		const adapters = new ReplicaAdapters();
		const use = async () => adapters.use("a", 1, loads);
		await expect(use()).rejects.toBe(failure);
		clock.now = 59_999;
		await expect(use()).rejects.toBe(failure);
		expect(calls).toHaveLength(1);
		clock.now = 60_000;
		await expect(use()).rejects.toBe(failure);
		expect(calls).toHaveLength(2);
	});
});
