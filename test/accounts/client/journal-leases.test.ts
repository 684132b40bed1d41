/** The leases of a journal and its batches, without a ledger. */
import { describe, expect, it } from "vitest";
import type { Admission, JournalAnswer, JournalBatch } from "../../../src/accounts/admission.ts";
import { Journal } from "../../../src/accounts/client/journal.ts";
import { type JournalPace, journalPace } from "../../../src/accounts/client/lease-demand.ts";
import type { Lease } from "../../../src/accounts/lease.ts";
import { FlushSchedule, type FlushServices } from "../../../src/core/flush-schedule.ts";
import { TestTimers } from "../../timers.ts";
import { admission, fixedCost, settlement } from "../fixtures.ts";

const START = 1_000_000;
const A = admission({ model: "a", cost: fixedCost(100) });

/** `send`: instead of recording the batches. */
function journalOf(
	pace: JournalPace = { flushAfterMs: 250, leaseMs: 1000, soonMs: 4_000 },
	send?: (batch: JournalBatch) => Promise<JournalAnswer>,
) {
	const state = { time: START, idle: 0, confirmedAt: Number.NEGATIVE_INFINITY };
	const batches: JournalBatch[] = [];
	const waits: number[] = [];
	const now = () => state.time;
	const timers = new TestTimers(now);
	const flushServices: FlushServices = {
		now,
		wait: (ms, signal) => {
			waits.push(ms);
			return timers.wait(ms, signal);
		},
		waitUntil: () => {},
	};
	const record = async (batch: JournalBatch): Promise<JournalAnswer> => {
		batches.push(structuredClone(batch));
		return batch.renewals.map(() => undefined);
	};
	const journal = new Journal(
		{ now },
		{
			sendJournal: send ?? record,
			journalFailed: () => {},
			flushesOf: (work) => new FlushSchedule(flushServices).flushesOf(work),
			pace: () => pace,
			confirmedAt: () => state.confirmedAt,
			journalIdle: () => void state.idle++,
		},
	);
	/** A lease of the class, granted now. */
	const grant = (like: Admission, fields: Partial<Lease> = {}): string => {
		const request = journal.requestLease(like);
		if (!request) throw new Error("no lease is requested");
		const { id } = request;
		journal.addLease(like, request, {
			...{ id, requests: 10, microNeurons: 1_000, ms: 1_000, isBudgeted: true },
			...fields,
		});
		return id;
	};
	return {
		journal,
		state,
		batches,
		waits,
		grant,
		/** Advances the time, and runs all that is due. */
		pass: async (ms: number) => {
			const end = state.time + ms;
			for (;;) {
				for (let turn = 0; turn < 20; turn++) await Promise.resolve();
				const due = timers.dueBy(end);
				if (!due) break;
				state.time = Math.max(state.time, due.at);
				due.fire();
			}
			state.time = end;
		},
	};
}

const ticket = (name: string, like = A): Admission => ({ ...like, ticket: name });

describe("a journal may free a part of a limit", () => {
	it("by leases that it returns, and no longer after that", async () => {
		const { journal, grant } = journalOf();
		const refused = journal.requestLease(A);
		if (refused) journal.addLease(A, refused, undefined);
		expect(journal.mayFreeRoom).toBe(false);
		grant(A);
		expect(journal.mayFreeRoom).toBe(true);
		await journal.flush();
		expect(journal.mayFreeRoom).toBe(false);
	});

	it("by requests that it has not reported", async () => {
		const { journal, state, grant } = journalOf();
		grant(A, { ms: 8_000 });
		expect(journal.admit(A)).toBeDefined();
		state.time += 1_000;
		// The object says that the lease is no longer current.
		const checks = journal.leasesToCheck([A]);
		expect(checks.size).toBe(1);
		journal.recordChecks(
			checks,
			[...checks].map(() => false),
			state.time,
		);
		expect(journal.mayFreeRoom).toBe(true);
	});

	it("by settlements that it has not reported", async () => {
		const { journal } = journalOf();
		journal.addOpen(A);
		expect(journal.mayFreeRoom).toBe(false);
		expect(journal.settle(settlement(A.ticket))).toBe(true);
		expect(journal.mayFreeRoom).toBe(true);
		await journal.flush();
		expect(journal.mayFreeRoom).toBe(false);
	});
});

describe("the request for a lease", () => {
	it("is for one request more than the demand, and made once for each credential and model", () => {
		const { journal } = journalOf();
		expect(journal.requestLease(A)).toMatchObject({ requests: 2, microNeurons: 200 });
		expect(journal.requestLease(A)).toBeUndefined();
		const token: Admission = { ...A, credential: { kind: "token", hash: "h" } };
		const other: Admission = { ...A, credential: { kind: "token", hash: "i" } };
		for (const like of [{ ...A, model: "b" }, token, other])
			expect(journal.requestLease(like)).toMatchObject({ requests: 2 });
	});

	it("is made again ten seconds after a call without an answer, whose lease is returned", async () => {
		const { journal, batches, state, pass } = journalOf();
		const lost = journal.requestLease(A);
		state.time = START + 9_999;
		expect(journal.requestLease(A)).toBeUndefined();
		state.time = START + 10_000;
		const next = journal.requestLease(A);
		expect(next).toMatchObject({ requests: 3 });
		expect(next?.id).not.toBe(lost?.id);
		await pass(250);
		expect(batches.map(({ returned }) => returned)).toEqual([[lost?.id]]);
		// The late answer of the lost call is no lease.
		if (lost)
			journal.addLease(A, lost, {
				id: lost.id,
				requests: 9,
				microNeurons: 900,
				ms: 9_999,
				isBudgeted: false,
			});
		expect(journal.admit(A)).toBeUndefined();
	});

	it("is made again if the clock was set back after a call without an answer, whose lease is returned", async () => {
		const { journal, batches, state, pass } = journalOf();
		const lost = journal.requestLease(A);
		state.time -= 3_600_000;
		const next = journal.requestLease(A);
		expect(next?.id).not.toBe(lost?.id);
		await pass(250);
		expect(batches.map(({ returned }) => returned)).toEqual([[lost?.id]]);
	});

	it("counts the requests of this second, or of the one before", () => {
		const { journal, state } = journalOf();
		const requested = (): number | undefined => {
			const request = journal.requestLease(A);
			if (request) journal.addLease(A, request, undefined);
			return request?.requests;
		};
		expect([requested(), requested(), requested()]).toEqual([2, 3, 4]);
		state.time = START + 999;
		expect(requested()).toBe(5);
		state.time = START + 1_000;
		expect([requested(), requested()]).toEqual([5, 5]);
		state.time = START + 2_999;
		expect(requested()).toBe(3);
		state.time = START + 4_999;
		expect(requested()).toBe(2);
	});
});

describe("a lease", () => {
	it("ends if the clock is set back: it would pay for requests, of a token that may be revoked, until that has caught up", () => {
		const { journal, state, grant } = journalOf();
		grant(A);
		expect(journal.admit(A)).toEqual({});
		state.time -= 3_600_000;
		expect(journal.admit(A)).toBeUndefined();
	});

	it("ends with its time", () => {
		const { journal, state, grant } = journalOf();
		grant(A);
		state.time = START + 999;
		expect(journal.admit(A)).toEqual({});
		state.time = START + 1_000;
		expect(journal.admit(A)).toBeUndefined();
	});

	it.each([
		["its requests", { requests: 2, microNeurons: 1_000 }],
		["its neurons", { requests: 10, microNeurons: 200 }],
	])("ends with %s", (_, fields) => {
		const { journal, grant } = journalOf();
		grant(A, fields);
		expect([1, 2, 3].map(() => journal.admit(A) !== undefined)).toEqual([true, true, false]);
	});

	const output = (outputTokens: number, microNeuronsPerOutputToken: number): Admission["cost"] => ({
		...fixedCost(1),
		outputTokens,
		microNeuronsPerOutputToken,
	});
	it.each<[Admission["cost"], Partial<Lease>, object]>([
		[output(10, 2), {}, { outputTokens: 10 }],
		[output(10, 2), { limited: true }, { outputTokens: 10, limited: true }],
		[output(1, 1), {}, { outputTokens: 1 }],
		[output(0, 2), {}, {}],
		[output(10, 0), {}, {}],
		[output(10, 2), { isBudgeted: false }, {}],
	])("for the cost %j with %j grants %j", (cost, fields, granted) => {
		const { journal, grant } = journalOf();
		const like = { ...A, cost };
		grant(like, fields);
		expect(journal.admit(like)).toStrictEqual(granted);
	});

	it("is returned when it is used up, and nothing is renewed without requests", async () => {
		const { journal, batches, grant, pass } = journalOf();
		const id = grant(A, { requests: 1 });
		journal.admit(ticket("t"));
		await pass(250);
		expect(batches).toMatchObject([
			{ sequence: 1, returned: [id], renewals: [{ model: "a", lease: { requests: 3, microNeurons: 300 } }] },
		]);
		expect(batches[0]?.renewals[0]).not.toHaveProperty("ticket");
		await pass(1_000);
		expect(batches).toHaveLength(1);
	});

	it("is not renewed while it has twice the requests of a batch", async () => {
		const { journal, batches, grant, pass } = journalOf();
		grant(A, { requests: 3, ms: 60_000 });
		journal.admit(ticket("t1"));
		await pass(250);
		expect(batches[0]?.renewals).toEqual([]);
		journal.admit(ticket("t2"));
		await pass(250);
		expect(batches[1]?.renewals).toHaveLength(1);
	});
});

describe("a lease by the cost of its requests", () => {
	const settle = (journal: Journal, name: string, microNeurons: number): void =>
		void journal.settle(settlement(name, { microNeurons }));

	it("has again what a settled request did not cost, once", () => {
		const { journal, grant } = journalOf();
		grant(A, { microNeurons: 130 });
		expect(journal.admit(ticket("t1"))).toEqual({});
		expect(journal.admit(ticket("t2"))).toBeUndefined();
		settle(journal, "t1", 30);
		settle(journal, "t1", 0);
		expect(journal.admit(ticket("t2"))).toEqual({});
		// Above its reservation.
		settle(journal, "t2", 250);
		expect(journal.admit(ticket("t3"))).toBeUndefined();
	});

	it.each([-60, 1.5, Number.NaN])("has nothing again from a request with a cost of %d", (cost) => {
		const { journal, grant } = journalOf();
		grant(A, { microNeurons: 150 });
		journal.admit(ticket("t1"));
		settle(journal, "t1", cost);
		expect(journal.admit(ticket("t2"))).toBeUndefined();
	});

	it("has nothing again from a request that a batch has reported as open", async () => {
		const { journal, batches, grant, pass } = journalOf();
		grant(A, { microNeurons: 250, ms: 60_000 });
		journal.admit(ticket("t1"));
		await pass(250);
		expect(batches).toMatchObject([{ returned: [], renewals: [] }]);
		settle(journal, "t1", 30);
		expect(journal.admit(ticket("t2"))).toEqual({});
		expect(journal.admit(ticket("t3"))).toBeUndefined();
	});

	it("is returned when it does not pay for a request, and renewed", async () => {
		const { journal, batches, grant, pass } = journalOf();
		const id = grant(A, { microNeurons: 150 });
		journal.admit(ticket("t1"));
		settle(journal, "t1", 60);
		await pass(250);
		const lease = { requests: 3, microNeurons: 300 };
		expect(batches).toMatchObject([{ returned: [id], renewals: [{ lease }] }]);
	});

	it("is requested with the reservations of what was open at once and one more, and the cost of the others", async () => {
		const { journal, batches, grant, pass } = journalOf();
		grant(A, { requests: 20 });
		for (let i = 0; i < 20; i++) {
			journal.admit(ticket(`t${i}`));
			settle(journal, `t${i}`, 10);
		}
		await pass(250);
		// 21 requests and one more: one by a call and one from the lease were open at once, so 3 at 100, and 19 at 10.
		expect(batches[0]?.renewals).toMatchObject([{ lease: { requests: 22, microNeurons: 490 } }]);
	});

	it("is requested with neurons for two batches, of the four in a second", () => {
		const { journal, state, grant } = journalOf();
		grant(A, { requests: 20 });
		for (let i = 0; i < 20; i++) {
			journal.admit(ticket(`t${i}`));
			settle(journal, `t${i}`, 10);
		}
		state.time = START + 1_000;
		// Half of 21 requests, and one more: 3 at 100, and 9 at 10.
		expect(journal.requestLease(A)).toMatchObject({ requests: 22, microNeurons: 390 });
	});

	it("is requested without what another lease has, but for one request", () => {
		const { journal, grant } = journalOf();
		grant(A, { requests: 5, microNeurons: 400, ms: 60_000 });
		expect(journal.requestLease(A)).toMatchObject({ requests: 1, microNeurons: 100 });
	});

	it("is requested although another lease has room that ends before the next batch", async () => {
		const { journal, batches, grant, pass } = journalOf();
		grant(A);
		await pass(510);
		journal.admit(ticket("t"));
		await pass(240);
		expect(batches).toMatchObject([{ returned: [], renewals: [{ lease: { requests: 3 } }] }]);
	});

	it("has no neurons for a model without a price", () => {
		const { journal } = journalOf();
		const free = { ...A, cost: fixedCost(0) };
		expect(journal.requestLease(free)).toMatchObject({ requests: 2, microNeurons: 0 });
	});
});

describe("a lease of more than a second", () => {
	const LONG = { flushAfterMs: 4_000, leaseMs: 8_000, soonMs: 4_000 };

	it("is requested with its time, for one request more than those between two batches", () => {
		const { journal, state } = journalOf(LONG);
		const request = journal.requestLease(A);
		expect(request).toMatchObject({ requests: 2, ms: 8_000 });
		if (request) journal.addLease(A, request, undefined);
		state.time = START + 3_999;
		expect(journal.requestLease(A)).toMatchObject({ requests: 3, ms: 8_000 });
	});

	it("needs no step until half of its time has passed, but the next request is reported in time", async () => {
		const pace = { flushAfterMs: 4_000, leaseMs: 120_000, soonMs: 60_000 };
		const { journal, state, batches, grant, pass, waits } = journalOf(pace);
		const lease = grant(A, { ms: 120_000 });
		const use = (name: string) => {
			state.confirmedAt = state.time;
			journal.admit(ticket(name));
			journal.settle(settlement(name));
		};
		use("t1");
		await pass(34_000);
		expect(waits).toEqual([4_000, 56_000]);
		use("t2");
		use("t3");
		await pass(4_000);
		expect(batches).toMatchObject([{ requests: [{ ticket: "t1" }] }, { requests: [{}, { ticket: "t3" }] }]);
		await pass(55_999);
		expect(waits).toEqual([4_000, 56_000, 4_000, 56_000]);
		await pass(1);
		expect(batches[2]).toMatchObject({ requests: [], returned: [lease] });
		await pass(4_000);
		expect(state.idle).toBe(1);
	});

	it("does not delay the settlement of a request that is open", async () => {
		const { journal, grant, pass, waits } = journalOf({
			flushAfterMs: 4_000,
			leaseMs: 120_000,
			soonMs: 60_000,
		});
		grant(A, { ms: 120_000 });
		journal.admit(ticket("t1"));
		await pass(8_000);
		expect(waits).toEqual([4_000, 4_000, 4_000]);
		journal.settle(settlement("t1"));
		await pass(4_000);
		expect(waits.at(-1)).toBe(48_000);
	});

	it("is used only within a second after the call that checked it", () => {
		const { journal, state, grant } = journalOf(LONG);
		const id = grant(A, { ms: 8_000 });
		const token: Admission = { ...A, credential: { kind: "token", hash: "h" } };
		expect(journal.leasesToCheck([A, token]).size).toBe(0);
		state.time = START + 1_000;
		expect(journal.admit(A)).toBeUndefined();
		const checks = journal.leasesToCheck([A, A, token]);
		expect([...checks.values()]).toEqual([{ credential: A.credential, leases: [id] }]);
		state.time = START + 1_400;
		journal.recordChecks(checks, [true], START + 1_000);
		expect(journal.admit(A)).toEqual({});
		state.time = START + 2_000;
		expect(journal.admit(A)).toBeUndefined();
		expect([...journal.leasesToCheck([{ ...A, cost: fixedCost(1_001) }])]).toEqual([]);
	});

	it("is returned if its check fails", async () => {
		const { journal, batches, state, grant, pass } = journalOf(LONG);
		const id = grant(A, { ms: 8_000 });
		state.time = START + 1_000;
		journal.recordChecks(journal.leasesToCheck([A]), [false], state.time);
		expect(journal.leasesToCheck([A]).size).toBe(0);
		expect(journal.admit(A)).toBeUndefined();
		await pass(3_000);
		expect(batches.map(({ returned }) => returned)).toEqual([[id]]);
	});

	it("is returned when it was not used for half of its time, with the settlement of its first request", async () => {
		const { journal, batches, grant, pass } = journalOf(LONG);
		const id = grant(A, { ms: 8_000 });
		journal.addOpen(ticket("t"));
		const settled = settlement("t");
		expect(journal.settle(settled)).toBe(true);
		await pass(4_000);
		expect(batches).toMatchObject([{ settlements: [settled], returned: [id], renewals: [] }]);
	});

	it.each([
		[0, 250, 1_000],
		[6, 250, 1_000],
		[10, 400, 1_000],
		[50, 2_000, 4_000],
		[100, 4_000, 8_000],
		[10_000, 4_000, 8_000],
	])("with %i accounts: a batch every %i ms, and leases of %i ms", (accounts, flushAfterMs, leaseMs) => {
		expect(journalPace(accounts)).toMatchObject({ flushAfterMs, leaseMs });
	});

	it.each([
		["of several isolates", 6, { longLeases: true }, 1_000, 500],
		["of the only isolate", 6, { longLeases: true, isOnlyProcess: true }, 4_000, 2_000],
		["of the only isolate", 50, { longLeases: true, isOnlyProcess: true }, 120_000, 60_000],
		["of the only isolate, which ends without requests", 6, { isOnlyProcess: true }, 1_000, 4_000],
	])("in a shard %s, with %i accounts: %o", (_, accounts, options, leaseMs, soonMs) => {
		expect(journalPace(accounts, { inShard: true, ...options })).toMatchObject({ leaseMs, soonMs });
	});

	it("the only isolate, without a shard, has leases of a second", () => {
		expect(journalPace(6, { longLeases: true, isOnlyProcess: true })).toMatchObject({ leaseMs: 1_000 });
	});
});

describe("a request from a lease", () => {
	it("is reported with its time and cost, and settled with its batch or a later one", async () => {
		const { journal, state, batches, grant, pass } = journalOf();
		const lease = grant(A, { ms: 60_000 });
		state.time = START + 40;
		journal.admit(ticket("t1"));
		journal.admit(ticket("t2"));
		const first = settlement("t1", { outputTokens: 1 });
		expect(journal.settle(first)).toBe(true);
		expect(journal.settle(settlement("t1", { outputTokens: 2 }))).toBe(true);
		await pass(250);
		const reported = { lease, afterMs: 40, reserved: 100 };
		expect(batches[0]).toMatchObject({ sequence: 1, settlements: [] });
		expect(batches[0]?.requests).toEqual([
			{ ...reported, ticket: "t1", settlement: first },
			{ ...reported, ticket: "t2" },
		]);
		expect(journal.settle(first)).toBe(false);
		const second = settlement("t2");
		expect(journal.settle(second)).toBe(true);
		expect(journal.settle(second)).toBe(false);
		await pass(250);
		expect(batches[1]).toMatchObject({ sequence: 2, requests: [], settlements: [second] });
	});

	it.each([
		[1_000, false],
		[1_001, true],
	])("held for %i ms is still open after the batch of that time: %s", async (holdMs, isOpen) => {
		const { journal, grant, pass } = journalOf();
		grant(A, { ms: 60_000 });
		journal.admit({ ...ticket("t"), holdMs });
		await pass(1_000);
		expect(journal.settle(settlement("t"))).toBe(isOpen);
	});

	it("of no lease is not settled here", () => {
		expect(journalOf().journal.settle(settlement("t"))).toBe(false);
	});
});

describe("a journal without work", () => {
	it("is idle as soon as no lease is requested", async () => {
		const { journal, state, batches, pass } = journalOf();
		const request = journal.requestLease(A);
		await pass(5_000);
		expect(state.idle).toBe(0);
		if (request) journal.addLease(A, request, undefined);
		await pass(250);
		expect([state.idle, batches]).toEqual([1, []]);
	});

	it("is idle ten seconds after a call without an answer, whose lease is returned", async () => {
		const { journal, state, batches, pass } = journalOf();
		const lost = journal.requestLease(A);
		await pass(9_999);
		expect(batches).toEqual([]);
		await pass(10_000);
		expect(batches.map(({ returned }) => returned)).toEqual([[lost?.id]]);
		expect(state.idle).toBe(1);
	});

	it("returns the lease of a call without an answer if the clock was set back", async () => {
		const { journal, state, batches } = journalOf();
		const lost = journal.requestLease(A);
		state.time -= 3_600_000;
		await journal.step();
		expect(batches.map(({ returned }) => returned)).toEqual([[lost?.id]]);
	});

	it("returns the lease of a call that failed", async () => {
		const { journal, batches, state, pass } = journalOf();
		const request = journal.requestLease(A);
		if (request) journal.leaseFailed(A, request);
		await pass(1_000);
		expect(batches.map(({ returned }) => returned)).toEqual([[request?.id]]);
		expect(state.idle).toBe(1);
		expect(journal.requestLease(A)).toMatchObject({ requests: 2 });
	});

	it("returns its leases also after a flush has given up, if another call has sent its batch", async () => {
		const sent: JournalBatch[] = [];
		const fail: ((cause: Error) => void)[] = [];
		let isDown = true;
		const { journal, grant, state, pass } = journalOf(undefined, (batch) => {
			if (isDown) return new Promise((_, reject) => fail.push(reject));
			sent.push(batch);
			return Promise.resolve(batch.renewals.map(({ lease }) => ({ ...lease, ms: 1_000, isBudgeted: true })));
		});
		grant(A, { requests: 2 });
		for (const name of ["t1", "t2"]) {
			journal.admit(ticket(name));
			journal.settle(settlement(name, { microNeurons: 100 }));
		}
		for (const wait of [250, 400, 1_600, 6_400]) {
			fail.pop()?.(new Error("overloaded"));
			await pass(wait);
		}
		// The fourth try has no answer yet.
		isDown = false;
		await journal.flush();
		const granted = sent.flatMap(({ renewals }) => renewals.map(({ lease }) => lease.id));
		expect(granted).toHaveLength(1);
		grant({ ...A, model: "b" });
		fail.pop()?.(new Error("overloaded"));
		await pass(3_000);
		expect(state.idle).toBe(1);
		const returned = sent.flatMap((batch) => batch.returned);
		for (const id of granted) expect(returned).toContain(id);
		expect(new Set(returned).size).toBe(3);
	});

	it("stays for an open request", async () => {
		const { journal, state, grant, pass } = journalOf();
		grant(A, { requests: 1 });
		journal.admit(ticket("t"));
		await pass(20_000);
		expect(state.idle).toBe(0);
		journal.settle(settlement("t"));
		await pass(20_000);
		expect(state.idle).toBe(1);
	});
});
