import { describe, expect, it } from "vitest";
import { type GateRequest, type GateSettings, PoolGate, type PoolPlace } from "../../src/pools/pool-gate.ts";

const START = 1_000_000;

/** A gate for two replicas, under a clock that the test moves. */
function gate(settings: Partial<GateSettings> = {}) {
	const clock = { now: START };
	const timers = new Set<{ at: number; ring(): void }>();
	const services = {
		now: () => clock.now,
		wait: (ms: number, signal: AbortSignal) =>
			new Promise<void>((resolve, reject) => {
				const timer = { at: clock.now + ms, ring: resolve };
				timers.add(timer);
				signal.addEventListener("abort", () => {
					timers.delete(timer);
					reject(signal.reason);
				});
			}),
	};
	let replicas = 2;
	let mayGrow = false;
	const opened = new PoolGate({ maxRequests: 1, maxWaiting: 100, maxWaitMs: 5_000, ...settings }, () => ({
		replicas,
		mayGrow,
	}));
	const admitted: { account: string; place: PoolPlace }[] = [];
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
		timers,
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
		for (const account of ["a", "b", "c", "d"]) enter(account);
		await settled();
		expect(accounts()).toEqual(["a", "b"]);
		expect(opened.report(START)).toMatchObject({ waiting: 2, waitingTokens: 200 });
		admitted[0]?.place.leave();
		admitted[0]?.place.leave();
		await settled();
		expect(accounts()).toEqual(["a", "b", "c"]);
		admitted[1]?.place.leave();
		await settled();
		expect(accounts()).toEqual(["a", "b", "c", "d"]);
		expect(opened.report(START)).toMatchObject({ waiting: 0, waitingTokens: 0, oldestMs: 0 });
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
		expect(opened.report(START)).toMatchObject({ waiting: 1, refused: { full: 2, timeout: 0, drained: 0 } });
	});

	it("refuses a request that has waited too long, with a time to retry from the duration of others", async () => {
		const { admitted, advance, enter, gate: opened, refused } = gate();
		for (const account of ["a", "b", "c"]) enter(account);
		await advance(4_000);
		expect(opened.report(START + 4_000).oldestMs).toBe(4_000);
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
		expect(opened.report(START + 100_000).refused).toEqual({ full: 1, timeout: 2, drained: 0 });
	});

	it("gives a shorter time to retry after short requests", async () => {
		const { admitted, enter, refused } = gate();
		for (let i = 0; i < 36; i++) enter("a");
		enter("early", { mayWait: false });
		await settled();
		// 35 requests of an assumed second, at two replicas.
		expect(refused).toEqual([{ account: "early", code: 3040, retryAfter: 18 }]);
		for (let i = 0; i < 30; i++) {
			admitted[i]?.place.leave();
			await settled();
		}
		enter("late", { mayWait: false });
		await settled();
		expect(refused.at(-1)).toEqual({ account: "late", code: 3040, retryAfter: 1 });
	});

	it("keeps no timer for a request that is admitted", async () => {
		const { admitted, enter, timers } = gate();
		for (const account of ["a", "b", "c"]) enter(account);
		await settled();
		expect(timers.size).toBe(1);
		admitted[0]?.place.leave();
		await settled();
		expect(admitted).toHaveLength(3);
		expect(timers.size).toBe(0);
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
		expect(opened.report(START).refused).toEqual({ full: 0, timeout: 0, drained: 0 });
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
		expect(opened.report(START)).toMatchObject({ waiting: 0, refused: { drained: 2 } });
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

/**
 * A discrete-event model of one engine that processes a batch of requests: a request takes one millisecond for each token. Greedy
 * accounts always have 20 requests of different sizes in the queue. The quiet account sends a small one every 700 ms.
 */
async function shareFor(durationMs: number, greedy: readonly string[]) {
	const BATCH = 8;
	const clock = { now: 0 };
	const events: { at: number; run(): void }[] = [];
	const after = (ms: number, run: () => void) => events.push({ at: clock.now + ms, run });
	const services = { now: () => clock.now, wait: () => new Promise<void>(() => {}) };
	const opened = new PoolGate({ maxRequests: BATCH, maxWaiting: 1_000, maxWaitMs: 1e9 }, () => ({
		replicas: 1,
		mayGrow: false,
	}));
	const never = new AbortController().signal;
	const served: Record<string, number> = {};
	const quietWaits: number[] = [];
	const send = (account: string, cost: number, then: () => void): void => {
		const sentAt = clock.now;
		const request = { account, priority: "interactive", cost, mayWait: true, signal: never } as const;
		void opened.enter(request, services).then((place) => {
			if (account === "quiet") quietWaits.push(clock.now - sentAt);
			served[account] = (served[account] ?? 0) + cost;
			after(cost, () => {
				place.leave();
				then();
			});
		});
	};
	let sent = 0;
	const next = (account: string): void => {
		sent++;
		// 100 to 1,000 tokens.
		send(account, 100 * (1 + ((sent * 7) % 10)), () => next(account));
	};
	for (const account of greedy) for (let i = 0; i < 20; i++) next(account);
	const quiet = (): void => {
		send("quiet", 200, () => {});
		after(700, quiet);
	};
	after(350, quiet);
	for (;;) {
		await settled();
		const [event] = events.sort((a, b) => a.at - b.at).splice(0, 1);
		if (!event || event.at > durationMs) break;
		clock.now = event.at;
		event.run();
	}
	return { served, quietWaits };
}

describe("two greedy accounts and a quiet one", () => {
	const MAX_COST = 1_000;

	it("share the engine, and the quiet one waits one batch at most longer than alone", async () => {
		const alone = await shareFor(60_000, []);
		const { served, quietWaits } = await shareFor(60_000, ["greedy-1", "greedy-2"]);
		expect(Math.max(...alone.quietWaits)).toBe(0);
		expect(alone.quietWaits).toHaveLength(86);
		expect(quietWaits.length).toBeGreaterThanOrEqual(85);
		expect(Math.max(...quietWaits)).toBeLessThanOrEqual(MAX_COST);
		// The bound of the virtual token counter: twice the tokens of a batch of the largest requests.
		const [first = 0, second = 0] = [served["greedy-1"], served["greedy-2"]];
		expect(Math.abs(first - second)).toBeLessThanOrEqual(2 * 8 * MAX_COST);
		// The engine is never idle.
		expect(first + second + (served.quiet ?? 0)).toBeGreaterThanOrEqual(8 * 60_000);
		// From a run of this code, to detect unintended changes.
		expect({ first, second, longest: Math.max(...quietWaits) }).toEqual(FIXED);
	});
});

const FIXED = { first: 235_500, second: 230_900, longest: 450 };
