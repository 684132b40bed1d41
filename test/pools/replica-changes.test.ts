import { describe, expect, it } from "vitest";
import { type ReplicaChange, ReplicaChanges } from "../../src/pools/replica-changes.ts";

const DRAINING: ReplicaChange = { backend: "a", url: "http://1", state: "draining", added: false };
const ADDED: ReplicaChange = { backend: "a", url: "http://2", state: "active", added: true };

/** A copy of one isolate, and the stored changes. */
function copied(stored: ReplicaChange[] = [], isOnlyProcess = false) {
	const state = { now: 100_000, reads: 0, fails: false, isFull: false, stored, waits: [] as number[] };
	const changes: ReplicaChanges = new ReplicaChanges({
		isOnlyProcess,
		now: () => state.now,
		wait: (ms) => {
			state.waits.push(ms);
			return new Promise(() => {});
		},
		store: {
			async read() {
				state.reads++;
				const { writes } = changes;
				await Promise.resolve();
				if (!state.fails) changes.replace(structuredClone(state.stored), writes);
				return !state.fails;
			},
			async put(change) {
				if (state.isFull) return undefined;
				state.stored = [...state.stored, change];
				return structuredClone(state.stored);
			},
			async delete({ url }) {
				state.stored = state.stored.filter((one) => one.url !== url);
				return structuredClone(state.stored);
			},
		},
	});
	return { changes, state };
}

describe("ReplicaChanges", () => {
	it("are read before the first request, and again after a pause of 2.5 seconds", async () => {
		const { changes, state } = copied([DRAINING]);
		await changes.refresh();
		expect(changes.of("a")).toEqual([DRAINING]);
		state.now += 2_499;
		expect(changes.refresh()).toBeUndefined();
		changes.replace([DRAINING], changes.writes);
		state.now += 2_499;
		expect(changes.refresh()).toBeUndefined();
		state.now += 1;
		await changes.refresh();
		expect(state.reads).toBe(2);
		expect(state.waits).toEqual([1_000, 1_000]);
	});

	it("of the only isolate are read until a read succeeds, and after each change", async () => {
		const { changes, state } = copied([DRAINING], true);
		state.fails = true;
		await changes.refresh();
		state.fails = false;
		state.now += 2_500;
		await changes.refresh();
		expect([changes.of("a"), state.reads]).toEqual([[DRAINING], 2]);
		state.now += 3_600_000;
		expect(changes.refresh()).toBeUndefined();
		await changes.put(ADDED);
		state.now += 2_500;
		await changes.refresh();
		state.now += 3_600_000;
		expect(changes.refresh()).toBeUndefined();
		expect([changes.of("a"), state.reads]).toEqual([[DRAINING, ADDED], 3]);
	});

	it("keep the old copy if the object cannot be called", async () => {
		const { changes, state } = copied([DRAINING]);
		await changes.refresh();
		state.fails = true;
		state.now += 20_000;
		await changes.refresh();
		expect(changes.of("a")).toEqual([DRAINING]);
		expect(changes.refresh()).toBeUndefined();
	});

	it("are awaited by one request, and not by each, while the object does not answer", async () => {
		let now = 100_000;
		const store = { read: () => new Promise<boolean>(() => {}) } as never;
		const changes = new ReplicaChanges({ now: () => now, wait: async () => {}, store });
		await changes.refresh();
		now += 2_499;
		expect(changes.refresh()).toBeUndefined();
		now += 1;
		expect(changes.refresh()).toBeDefined();
	});

	it("ignore a read that started before a change of the same isolate", async () => {
		const { changes, state } = copied();
		const { writes } = changes;
		// Also after the clock was set back.
		state.now -= 3_600_000;
		await changes.put(DRAINING);
		changes.replace([], writes);
		expect(changes.of("a")).toEqual([DRAINING]);
		changes.replace([], changes.writes);
		expect(changes.of("a")).toBeUndefined();
	});

	it("keep the array of a backend without new changes, so that its pool stays as it is", async () => {
		const { changes } = copied([DRAINING]);
		await changes.refresh();
		const before = changes.of("a");
		changes.replace(structuredClone([DRAINING]), changes.writes);
		expect(changes.of("a")).toBe(before);
		await changes.put(ADDED);
		expect(changes.of("a")).toEqual([DRAINING, ADDED]);
		await changes.delete(ADDED);
		expect(changes.of("a")).toEqual([DRAINING]);
	});

	it("say whether the object has room for one more", async () => {
		const { changes, state } = copied();
		expect(await changes.put(DRAINING)).toBe(true);
		state.isFull = true;
		expect(await changes.put(ADDED)).toBe(false);
		expect(changes.of("a")).toEqual([DRAINING]);
	});

	it("are none without an object", async () => {
		const changes = new ReplicaChanges({ now: () => 0, wait: async () => {} });
		expect(changes.refresh()).toBeUndefined();
		expect(changes.canChange).toBe(false);
		await expect(changes.put(DRAINING)).rejects.toThrow("There is no Fleet object");
	});
});
