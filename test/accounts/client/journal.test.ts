/** The journal of an isolate against the real ledger of an account, with calls that are lost. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Admission, Budget, JournalBatch, Settlement } from "../../../src/accounts/admission.ts";
import { Journal } from "../../../src/accounts/client/journal.ts";
import { FlushSchedule, type FlushServices } from "../../../src/core/flush-schedule.ts";
import { TestTimers } from "../../timers.ts";
import {
	admission,
	fixedCost,
	type LedgerBench,
	settlement,
	TASK,
	type TestLedger,
	withLedger,
} from "../fixtures.ts";

type Fault = "none" | "not delivered" | "answer lost";

const DAILY: Budget = { key: "account", microNeurons: 100_000, failure: "freeAllocationUsed" };
const RATE = { key: `task:${TASK}`, perMinute: 400 };
const COST = 100;
const request = (fields: Partial<Admission> = {}): Admission =>
	admission({ cost: fixedCost(COST), budgets: [DAILY], rates: [RATE], ...fields });

/** One isolate. All isolates of a test share the ledger and the time. */
class Isolate {
	fault: Fault = "none";
	readonly batches: JournalBatch[] = [];
	givenUp = 0;
	idle = 0;
	readonly journal: Journal;
	readonly timers: TestTimers;
	readonly #bench: LedgerBench;

	constructor(bench: LedgerBench) {
		this.#bench = bench;
		const now = () => bench.time;
		this.timers = new TestTimers(now);
		const flushServices: FlushServices = {
			now,
			wait: this.timers.wait,
			waitUntil: () => {},
		};
		this.journal = new Journal(
			{ now },
			{
				sendJournal: async (batch) => {
					this.batches.push(batch);
					return this.#call((ledger) => {
						const copy = ledger.book(batch);
						if (copy === "older") return [];
						return batch.renewals.map((renewal) => ledger.grantLease(renewal, undefined, copy));
					});
				},
				journalFailed: () => this.givenUp++,
				pace: () => ({ flushAfterMs: 250, leaseMs: 1000, soonMs: 4_000 }),
				flushesOf: (work) => new FlushSchedule(flushServices).flushesOf(work),
				confirmedAt: () => Number.NEGATIVE_INFINITY,
				journalIdle: () => this.idle++,
			},
		);
	}

	#call<T>(method: (ledger: TestLedger) => T): T {
		if (this.fault === "not delivered") throw new Error("overloaded");
		// As RPC does: later changes of the batch do not reach the object.
		const answer = structuredClone(method(this.#bench.ledger));
		if (this.fault === "answer lost") throw new Error("network connection lost");
		return answer;
	}

	/** As the pipeline: from a lease, or else by a call. Returns how it was admitted. */
	admit(one: Admission): "lease" | "call" | "refused" | "lost" {
		if (this.journal.admit(one)) return "lease";
		const lease = this.journal.requestLease(one);
		try {
			const granted = this.#call((ledger) => {
				const admitted = ledger.admit(one);
				const leased = admitted.ok && lease ? ledger.grantLease({ ...one, lease }) : undefined;
				return { admitted, leased };
			});
			if (lease) this.journal.addLease(one, lease, granted.leased);
			return granted.admitted.ok ? "call" : "refused";
		} catch {
			if (lease) this.journal.leaseFailed(one, lease);
			return "lost";
		}
	}

	settle(one: Settlement): void {
		if (!this.journal.settle(one)) this.#bench.ledger.settle([one]);
	}
}

async function pass(bench: LedgerBench, isolates: readonly Isolate[], ms: number): Promise<void> {
	const end = bench.time + ms;
	for (;;) {
		for (let i = 0; i < 20; i++) await Promise.resolve();
		const [due] = isolates.flatMap(({ timers }) => timers.dueBy(end) ?? []).sort((a, b) => a.at - b.at);
		if (!due) break;
		bench.time = Math.max(bench.time, due.at);
		due.fire();
	}
	bench.time = end;
}

const counts = ({ ledger }: LedgerBench) => {
	const status = ledger.limitStatus({ credential: { kind: "operator" }, rates: [RATE], budgets: [DAILY] });
	const [budget] = status.budgets;
	return {
		spent: budget?.spentMicroNeurons ?? 0,
		reserved: budget?.reservedMicroNeurons ?? 0,
		used: status.rates[0]?.used ?? 0,
	};
};

describe("a journal", () => {
	it("admits from a lease after the first request, and grows with the demand", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			const admitted: string[] = [];
			for (let i = 0; i < 30; i++) admitted.push(isolate.admit(request()));
			// Leases of 2, 5, 11, … requests: one more than those of the current second.
			expect(admitted.map((how, i) => (how === "call" ? i : -1)).filter((i) => i >= 0)).toEqual([
				0, 3, 9, 21,
			]);
		}));

	it("reports in batches, and returns its leases when there are no requests", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			const first = request();
			isolate.admit(first);
			isolate.settle(settlement(first.ticket, { microNeurons: 30 }));
			const second = request();
			expect(isolate.admit(second)).toBe("lease");
			isolate.settle(settlement(second.ticket, { microNeurons: 40 }));
			await pass(bench, [isolate], 3_000);
			expect(counts(bench)).toEqual({ spent: 70, reserved: 0, used: 2 });
			expect(isolate.batches.map(({ requests }) => requests.length)).toEqual([1, 0, 0]);
			expect(isolate.idle).toBe(1);
			expect(bench.ledger.nextLeaseExpiry()).toBe(Number.POSITIVE_INFINITY);
		}));

	it("reports a request that is still open, and settles it in a later batch", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			isolate.settle(settlement("unknown"));
			const [first, second] = [request(), request()];
			isolate.admit(first);
			isolate.settle(settlement(first.ticket));
			expect(isolate.admit(second)).toBe("lease");
			await pass(bench, [isolate], 5_000);
			expect(counts(bench)).toEqual({ spent: 0, reserved: 100, used: 2 });
			expect(isolate.idle).toBe(0);
			isolate.settle(settlement(second.ticket, { microNeurons: 55 }));
			await pass(bench, [isolate], 3_000);
			expect(counts(bench)).toEqual({ spent: 55, reserved: 0, used: 2 });
			expect(isolate.idle).toBe(1);
		}));

	it("does not use a lease after its time", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			isolate.admit(request());
			bench.time += 999;
			expect(isolate.admit(request())).toBe("lease");
			bench.time += 1;
			expect(isolate.admit(request())).toBe("call");
		}));

	it("does not use a lease for a request that it does not pay for, of another model or another token", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			isolate.admit(request());
			expect(isolate.journal.admit(request({ cost: fixedCost(201) }))).toBeUndefined();
			expect(isolate.journal.admit(request({ model: "@cf/another/model" }))).toBeUndefined();
			expect(isolate.journal.admit(request({ credential: { kind: "token", hash: "a" } }))).toBeUndefined();
			expect(isolate.journal.admit(request({ cost: fixedCost(200) }))).toEqual({});
			// The lease has one more request, but no neurons.
			expect(isolate.journal.admit(request())).toBeUndefined();
		}));

	it("limits the output of a request if a budget limits it", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			const cost = {
				fixedMicroNeurons: 1,
				microNeuronsPerOutputToken: 2,
				outputTokens: 50,
				outputUnbounded: true,
			};
			isolate.admit(request({ cost }));
			expect(isolate.journal.admit(request({ cost }))).toEqual({ outputTokens: 50 });
			isolate.admit(request({ cost, model: "free", budgets: [] }));
			expect(isolate.journal.admit(request({ cost, model: "free", budgets: [] }))).toEqual({});
		}));

	it("sends the next batch 250 ms after the last step of the flush before", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			const [first, second] = [request(), request()];
			for (const one of [first, second]) isolate.journal.addOpen(one);
			isolate.settle(settlement(first.ticket));
			// The batch, and the step that finds nothing to send.
			await pass(bench, [isolate], 600);
			expect(isolate.timers.times).toEqual([]);
			isolate.settle(settlement(second.ticket));
			expect(isolate.timers.times.map((at) => at - bench.time)).toEqual([150]);
		}));

	it("sends a batch again unchanged until it is confirmed, and gives up after four failures", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			isolate.admit(request());
			const second = request();
			isolate.admit(second);
			isolate.fault = "answer lost";
			await pass(bench, [isolate], 10_000);
			expect(isolate.batches.map(({ sequence }) => sequence)).toEqual([1, 1, 1, 1]);
			expect(isolate.givenUp).toBe(1);
			isolate.fault = "none";
			isolate.settle(settlement(second.ticket, { microNeurons: 10 }));
			await pass(bench, [isolate], 60_000);
			bench.ledger.expire();
			// The first request is still open. The lease that the lost answer granted is returned.
			expect(counts(bench)).toMatchObject({ spent: 10, reserved: 100 });
		}));

	it.each<Fault>(["not delivered", "answer lost"])(
		"is sent again ten seconds after a flush has given up, without another request: %s",
		async (fault) =>
			withLedger(async (bench) => {
				const isolate = new Isolate(bench);
				const [first, second] = [request(), request()];
				expect([isolate.admit(first), isolate.admit(second)]).toEqual(["call", "lease"]);
				for (const { ticket } of [first, second]) isolate.settle(settlement(ticket, { microNeurons: 10 }));
				isolate.fault = fault;
				await pass(bench, [isolate], 18_000);
				expect([isolate.batches.length, isolate.givenUp, isolate.idle]).toEqual([4, 1, 0]);
				isolate.fault = "none";
				await pass(bench, [isolate], 3_000);
				expect([isolate.givenUp, isolate.idle]).toEqual([1, 1]);
				bench.ledger.expire();
				expect(counts(bench)).toMatchObject({ spent: 20, reserved: 0 });
			}),
	);

	it("is sent again soon after a flush has given up, with another request", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			for (const one of [request(), request()]) isolate.admit(one);
			isolate.fault = "not delivered";
			await pass(bench, [isolate], 10_000);
			expect(isolate.batches).toHaveLength(4);
			isolate.fault = "none";
			isolate.admit(request());
			await pass(bench, [isolate], 250);
			expect(isolate.batches).toHaveLength(5);
		}));
});

describe("leases by observed cost", () => {
	/** A second of requests, 40 ms apart, each settled at 30 of its 100 before the next one. */
	async function second(bench: LedgerBench, isolates: readonly Isolate[], budget = DAILY): Promise<void> {
		for (let i = 0; i < 25; i++) {
			for (const isolate of isolates) {
				const one = request({ budgets: [budget], rates: [] });
				expect(isolate.admit(one)).not.toBe("refused");
				isolate.settle(settlement(one.ticket, { microNeurons: 30 }));
			}
			await pass(bench, isolates, 40);
		}
	}

	it("a killed isolate is charged for few of its requests", () =>
		withLedger(async (bench) => {
			const isolate = new Isolate(bench);
			for (let i = 0; i < 3; i++) await second(bench, [isolate]);
			const { spent } = counts(bench);
			// 75 requests, of which a batch of 7 may not be reported yet.
			expect(spent).toBeGreaterThanOrEqual(68 * 30);
			bench.time += 60_000;
			bench.ledger.expire();
			const charged = rowsOf(bench, "lease-").reduce((sum, { microNeurons }) => sum + microNeurons, 0);
			expect(counts(bench)).toMatchObject({ spent: spent + charged, reserved: 0 });
			// What lasts until the next batch, and what ends before it: each for 14 requests, of which 2 at 100 and 12 at 30.
			expect(charged).toBeLessThanOrEqual(2 * (2 * 100 + 12 * 30));
		}));

	it("500 requests at once from eight isolates, of which two are killed, do not exceed a budget", () =>
		withLedger(async (bench) => {
			const budget: Budget = { ...DAILY, microNeurons: 40_000 };
			const isolates = Array.from({ length: 8 }, () => new Isolate(bench));
			for (let i = 0; i < 2; i++) await second(bench, isolates, budget);
			const settledBefore = 8 * 2 * 25 * 30;
			const admitted: { isolate: Isolate; ticket: string }[] = [];
			for (let i = 0; i < 500; i++) {
				const isolate = isolates[i % 8];
				const one = request({ budgets: [budget], rates: [], holdMs: 3_600_000 });
				const how = isolate?.admit(one);
				if (isolate && how !== "refused") admitted.push({ isolate, ticket: one.ticket });
			}
			expect(admitted.length).toBeGreaterThan(200);
			expect(settledBefore + admitted.length * 100).toBeLessThanOrEqual(budget.microNeurons);
			const alive = isolates.slice(2);
			for (const { isolate, ticket } of admitted)
				if (alive.includes(isolate)) isolate.settle(settlement(ticket, { microNeurons: 100 }));
			await pass(bench, alive, 5_000);
			bench.time += 3_700_000;
			bench.ledger.expire();
			const { spent, reserved } = counts(bench);
			expect(reserved).toBe(0);
			expect(spent).toBeLessThanOrEqual(budget.microNeurons);
			expect(spent).toBeGreaterThanOrEqual(settledBefore + admitted.length * 100);
		}));
});

const step = fc.oneof(
	{
		weight: 10,
		arbitrary: fc.record({
			kind: fc.constant("admit" as const),
			isolate: fc.nat({ max: 2 }),
			model: fc.nat({ max: 1 }),
			cost: fc.integer({ min: 0, max: 400 }),
		}),
	},
	{
		weight: 8,
		arbitrary: fc.record({
			kind: fc.constant("settle" as const),
			position: fc.nat(),
			share: fc.integer({ min: 0, max: 100 }),
		}),
	},
	{
		weight: 5,
		arbitrary: fc.record({
			kind: fc.constant("wait" as const),
			ms: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.constantFrom(1_000, 20_000, 61_000)),
		}),
	},
	{
		weight: 2,
		arbitrary: fc.record({
			kind: fc.constant("fault" as const),
			isolate: fc.nat({ max: 2 }),
			fault: fc.constantFrom<Fault>("none", "none", "not delivered", "answer lost"),
		}),
	},
	{ weight: 1, arbitrary: fc.constant({ kind: "restart" as const }) },
	{ weight: 1, arbitrary: fc.constant({ kind: "kill" as const }) },
	{ weight: 1, arbitrary: fc.constant({ kind: "expire" as const }) },
);

interface Known {
	isolate: Isolate;
	ticket: string;
	cost: number;
	at: number;
	how: "lease" | "call";
	settled?: number;
}

describe("three isolates and one account, with lost calls, restarts and kills", () => {
	const BUDGET = 6_000;
	const PER_MINUTE = 40;
	const budget: Budget = { ...DAILY, microNeurons: BUDGET };
	const rate = { ...RATE, perMinute: PER_MINUTE };

	it("never exceed a limit, and book every request once", async () => {
		await fc.assert(
			fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
				await withLedger(async (bench) => {
					let isolates = [0, 1, 2].map(() => new Isolate(bench));
					const requests: Known[] = [];
					const killed = new Set<Isolate>();
					const check = () => {
						const lastMinute = requests.filter(({ at }) => at > bench.time - 60_000).length;
						expect(lastMinute).toBeLessThanOrEqual(PER_MINUTE);
						const most = requests.reduce((sum, { cost, settled }) => sum + (settled ?? cost), 0);
						expect(most).toBeLessThanOrEqual(BUDGET);
						// Also what no batch has reported yet is in the account's books.
						const { spent, reserved } = counts(bench);
						expect(spent + reserved).toBeGreaterThanOrEqual(most);
						expect(spent + reserved).toBeLessThanOrEqual(BUDGET);
					};
					for (const one of steps) {
						switch (one.kind) {
							case "admit": {
								const isolate = isolates[one.isolate];
								if (!isolate) break;
								const admission = request({
									model: `@cf/a/${one.model}`,
									cost: fixedCost(one.cost),
									budgets: [budget],
									rates: [rate],
									holdMs: 3_600_000,
								});
								const how = isolate.admit(admission);
								const { ticket } = admission;
								if (how === "lease" || how === "call")
									requests.push({ isolate, ticket, cost: one.cost, at: bench.time, how });
								// As the client of the account: an admission without an answer is settled as failed.
								if (how === "lost") bench.ledger.settle([settlement(ticket, { outcome: "failed" })]);
								break;
							}
							case "settle": {
								const open = requests.filter(
									({ isolate, settled }) => settled === undefined && !killed.has(isolate),
								);
								const known = open[one.position % Math.max(1, open.length)];
								if (!known) break;
								known.settled = Math.floor((known.cost * one.share) / 100);
								known.isolate.settle(settlement(known.ticket, { microNeurons: known.settled }));
								break;
							}
							case "wait":
								await pass(bench, isolates, one.ms);
								break;
							case "fault": {
								const isolate = isolates[one.isolate];
								if (isolate) isolate.fault = one.fault;
								break;
							}
							case "restart":
								bench.restart();
								break;
							case "kill": {
								const [first] = isolates;
								if (first) killed.add(first);
								isolates = [...isolates.slice(1), new Isolate(bench)];
								break;
							}
							case "expire":
								bench.ledger.expire();
								break;
						}
						check();
					}
					// Everything that still can be delivered is delivered, and the rest expires.
					for (const isolate of isolates) isolate.fault = "none";
					for (const known of requests)
						if (known.settled === undefined && !killed.has(known.isolate)) {
							known.settled = 0;
							known.isolate.settle(settlement(known.ticket));
						}
					for (const isolate of isolates) isolate.admit(request({ cost: fixedCost(0), model: "@cf/a/last" }));
					await pass(bench, isolates, 120_000);
					bench.time += 3_700_000;
					bench.ledger.expire();
					const rows = allRows(bench);
					const ofTicket = new Map(rows.map((row) => [row.ticket, row]));
					expect(ofTicket.size).toBe(rows.length);
					for (const { isolate, ticket, settled, how } of requests) {
						const row = ofTicket.get(ticket);
						if (!killed.has(isolate) || how === "call") expect(row).toBeDefined();
						if (row && settled !== undefined && !killed.has(isolate))
							expect([row.outcome, row.microNeurons]).toEqual(["ok", settled]);
					}
					const { spent, reserved } = counts(bench);
					expect(reserved).toBe(0);
					const total = rows.reduce((sum, { microNeurons }) => sum + microNeurons, 0);
					expect(spent).toBe(total);
					expect(bench.ledger.usage({ by: [] }).total.microNeurons).toBe(total);
					// A killed isolate's charge covers what its lost requests cost, and the reservations of those that were open.
					const lost = requests.filter(({ isolate, ticket }) => killed.has(isolate) && !ofTicket.has(ticket));
					const charged = rows.filter(({ ticket }) => ticket.startsWith("lease-"));
					const chargedMicroNeurons = charged.reduce((sum, { microNeurons }) => sum + microNeurons, 0);
					expect(chargedMicroNeurons).toBeGreaterThanOrEqual(
						lost.reduce((sum, { cost, settled }) => sum + (settled ?? cost), 0),
					);
				});
			}),
			{ numRuns: 60 },
		);
	}, 120_000);
});

const rowsOf = (bench: LedgerBench, prefix: string) =>
	allRows(bench).filter(({ ticket }) => ticket.startsWith(prefix));

function allRows({ ledger }: LedgerBench) {
	const rows = [];
	let cursor: number | undefined;
	do {
		const page = ledger.requests({ limit: 100, ...(cursor !== undefined && { cursor }) });
		rows.push(...page.requests);
		cursor = page.cursor;
	} while (cursor !== undefined);
	return rows;
}
