import { describe, expect, it } from "vitest";
import { type GateRequest, type GateSettings, type Place, PoolGate } from "../../src/pools/pool-gate.ts";

/** A gate for two replicas, under a clock that the test moves. */
function gate(settings: Partial<GateSettings> = {}) {
	const clock = { now: 0 };
	const timers: { at: number; ring(): void }[] = [];
	const services = {
		now: () => clock.now,
		wait: (ms: number, signal: AbortSignal) =>
			new Promise<void>((resolve, reject) => {
				timers.push({ at: clock.now + ms, ring: resolve });
				signal.addEventListener("abort", () => reject(signal.reason));
			}),
	};
	let replicas = 2;
	let mayGrow = false;
	const opened = new PoolGate({ maxRequests: 1, maxWaiting: 100, maxWaitMs: 5_000, ...settings }, () => ({
		replicas,
		mayGrow,
	}));
	const admitted: { account: string; place: Place }[] = [];
	const refused: { account: string; code: number; retryAfter: number | undefined }[] = [];
	const never = new AbortController().signal;
	return {
		gate: opened,
		admitted,
		refused,
		enter(account: string, more: Partial<GateRequest> = {}) {
			const request = {
				account,
				priority: "interactive",
				cost: 100,
				mayWait: true,
				signal: never,
				...more,
			} as const;
			opened.enter(request, services).then(
				(place) => admitted.push({ account, place }),
				({ code, retryAfter }) => refused.push({ account, code, retryAfter }),
			);
		},
		async advance(ms: number) {
			clock.now += ms;
			for (const { at, ring } of timers) if (at <= clock.now) ring();
			await settled();
		},
		addReplica: () => replicas++,
		async drain(growing = false) {
			replicas = 0;
			mayGrow = growing;
			opened.update();
			await settled();
		},
		accounts: () => admitted.map(({ account }) => account),
	};
}

/** Lets promises continue. */
async function settled(): Promise<void> {
	for (let i = 0; i < 20; i++) await Promise.resolve();
}

describe("PoolGate", () => {
	it("shares the capacity by the weights of the accounts", async () => {
		const opened = gate({ maxRequests: 1, weights: { large: 3 } });
		for (let i = 0; i < 30; i++) for (const account of ["large", "small"]) opened.enter(account);
		await settled();
		// Two replicas: each request that leaves admits one.
		for (let i = 0; i < 16; i++) {
			opened.admitted[i]?.place.leave();
			await settled();
		}
		const counts = Object.groupBy(opened.accounts().slice(2), (account) => account);
		expect([counts.large?.length, counts.small?.length]).toEqual([12, 4]);
	});

	it("admits requests up to the limit of all replicas, and the next when one leaves", async () => {
		const { accounts, admitted, enter, gate: opened } = gate();
		for (const account of ["a", "b", "c"]) enter(account);
		await settled();
		expect(accounts()).toEqual(["a", "b"]);
		expect(opened.report(0)).toMatchObject({ waiting: 1, waitingTokens: 100 });
		admitted[0]?.place.leave();
		admitted[0]?.place.leave();
		await settled();
		expect(accounts()).toEqual(["a", "b", "c"]);
		expect(opened.report(0)).toMatchObject({ waiting: 0, waitingTokens: 0, oldestMs: 0 });
	});

	it("refuses a request that does not wait, and one above the length of the queue", async () => {
		const { enter, gate: opened, refused } = gate({ maxWaiting: 1 });
		for (const account of ["a", "b", "waits"]) enter(account);
		enter("full");
		enter("impatient", { mayWait: false });
		await settled();
		expect(refused).toEqual([
			{ account: "full", code: 3040, retryAfter: 1 },
			{ account: "impatient", code: 3040, retryAfter: 1 },
		]);
		expect(opened.report(0)).toMatchObject({ waiting: 1, refused: { full: 2, timeout: 0, drained: 0 } });
	});

	it("refuses a request that has waited too long, with a time to retry from the duration of others", async () => {
		const { admitted, advance, enter, gate: opened, refused } = gate();
		for (const account of ["a", "b", "c"]) enter(account);
		await advance(4_000);
		expect(opened.report(4_000).oldestMs).toBe(4_000);
		enter("d");
		await advance(1_000);
		expect(refused).toEqual([{ account: "c", code: 3040, retryAfter: 1 }]);
		// Requests take 100 seconds: the mean becomes 10.9 s after the first, and two replicas share two requests.
		await advance(95_000);
		enter("e");
		admitted[0]?.place.leave();
		await settled();
		enter("f", { mayWait: false });
		await settled();
		expect(refused.at(-1)).toEqual({ account: "f", code: 3040, retryAfter: 6 });
		expect(opened.report(100_000).refused).toEqual({ full: 1, timeout: 2, drained: 0 });
	});

	it("forgets a caller that disconnects", async () => {
		const { admitted, enter, gate: opened, refused, accounts } = gate();
		const caller = new AbortController();
		enter("a");
		enter("b");
		enter("left", { signal: caller.signal });
		enter("d");
		caller.abort();
		await settled();
		expect(refused).toEqual([{ account: "left", code: 3008, retryAfter: undefined }]);
		admitted[0]?.place.leave();
		await settled();
		expect(accounts()).toEqual(["a", "b", "d"]);
		expect(opened.report(0).refused).toEqual({ full: 0, timeout: 0, drained: 0 });
		enter("late", { signal: AbortSignal.abort() });
		await settled();
		expect(refused.at(-1)).toMatchObject({ account: "late", code: 3008 });
	});

	it("admits a quiet account next, however many requests of greedy accounts wait", async () => {
		const { accounts, admitted, enter } = gate();
		for (let i = 0; i < 40; i++) {
			enter("greedy-1");
			enter("greedy-2");
		}
		await settled();
		for (let i = 0; i < 10; i++) {
			admitted[i]?.place.leave();
			await settled();
		}
		enter("quiet");
		for (let i = 10; i < 13; i++) {
			admitted[i]?.place.leave();
			await settled();
		}
		expect(accounts().slice(12, 15)).toContain("quiet");
	});

	it("charges an account for what its answers cost", async () => {
		const { accounts, admitted, enter } = gate({ maxRequests: 1 });
		for (const account of ["long", "short"]) enter(account);
		for (let i = 0; i < 8; i++) {
			enter("long");
			enter("short");
		}
		await settled();
		for (let i = 0; i < 9; i++) {
			const done = admitted[i];
			done?.place.correct(done.account === "long" ? 900 : 100);
			done?.place.leave();
			await settled();
		}
		const longs = accounts().filter((account) => account === "long").length;
		expect(longs).toBeLessThanOrEqual(3);
	});

	it("admits batch requests last, and more requests when a replica joins", async () => {
		const { accounts, addReplica, admitted, enter } = gate();
		for (const account of ["a", "b"]) enter(account);
		enter("batch", { priority: "batch" });
		enter("c");
		await settled();
		addReplica();
		admitted[0]?.place.leave();
		await settled();
		expect(accounts()).toEqual(["a", "b", "c", "batch"]);
	});

	it("refuses all waiting and later requests at once if no replica can take them", async () => {
		const { accounts, drain, enter, gate: opened, refused } = gate();
		for (const account of ["a", "b", "c"]) enter(account);
		await drain();
		expect(refused).toEqual([{ account: "c", code: 3040, retryAfter: 1 }]);
		enter("d");
		await settled();
		expect(refused[1]).toMatchObject({ account: "d", code: 3040 });
		expect(opened.report(0)).toMatchObject({ waiting: 0, refused: { drained: 2 } });
		expect(accounts()).toEqual(["a", "b"]);
	});

	it("keeps requests without a replica if others may come, and admits them then", async () => {
		const { accounts, addReplica, drain, enter, gate: opened, refused } = gate();
		await drain(true);
		enter("a");
		await settled();
		expect([accounts(), refused]).toEqual([[], []]);
		addReplica();
		opened.update();
		await settled();
		expect(accounts()).toEqual(["a"]);
	});
});
