import { describe, expect, it, vi } from "vitest";
import type { Budget, JournalBatch, LeasedRequest, Renewal } from "../../../src/accounts/admission.ts";
import type { Lease } from "../../../src/accounts/lease.ts";
import {
	admission,
	fixedCost,
	type LedgerBench,
	MIDNIGHT,
	MODEL,
	NOON,
	settlement,
	TASK,
	withLedger,
} from "../fixtures.ts";

const OPERATOR = { kind: "operator" } as const;
const DAILY: Budget = { key: "account", microNeurons: 8_000, failure: "freeAllocationUsed" };
const RATE = { key: `task:${TASK}`, perMinute: 80 };

/** A request for a lease of requests that cost 100 micro-neurons each, in an account with a budget of 8,000 and 80 requests a minute. */
const renewal = (id: string, requests: number, fields: Partial<Renewal> = {}): Renewal => {
	const { ticket: _, ...request } = admission({ cost: fixedCost(100), budgets: [DAILY], rates: [RATE] });
	return { ...request, lease: { id, requests, microNeurons: requests * 100 }, ...fields };
};

const state = ({ ledger }: LedgerBench) => {
	const { budgets, rates } = ledger.limitStatus({ credential: OPERATOR, rates: [RATE], budgets: [DAILY] });
	return [budgets[0]?.spentMicroNeurons, budgets[0]?.reservedMicroNeurons, rates[0]?.used];
};

let sequence = 0;
const batch = (fields: Partial<JournalBatch>): JournalBatch => ({
	journal: "journal",
	sequence: ++sequence,
	requests: [],
	settlements: [],
	returned: [],
	renewals: [],
	...fields,
});

const leased = (ticket: string, fields: Partial<LeasedRequest> = {}): LeasedRequest => ({
	lease: "lease-1",
	ticket,
	afterMs: 0,
	reserved: 100,
	...fields,
});

const rows = ({ ledger }: LedgerBench) =>
	ledger
		.requests({})
		.requests.map(({ ticket, outcome, microNeurons }) => [ticket, outcome, microNeurons])
		.reverse();

const total = ({ ledger }: LedgerBench) => ledger.usage({ by: [] }).total.microNeurons;

function grant({ ledger }: LedgerBench, requests = 4): Lease {
	const lease = ledger.grantLease(renewal("lease-1", requests));
	if (!lease) throw new Error("refused");
	return lease;
}

describe("a lease", () => {
	it("has the requested size, and its requests and neurons are reserved", () =>
		withLedger((bench) => {
			expect(grant(bench)).toEqual({
				id: "lease-1",
				requests: 4,
				microNeurons: 400,
				ms: 1000,
				isBudgeted: true,
			});
			expect(state(bench)).toEqual([0, 400, 4]);
		}));

	it("has at most an eighth of what remains of each limit", () =>
		withLedger(({ ledger }) => {
			expect(ledger.grantLease(renewal("lease-1", 1_000))).toMatchObject({
				requests: 10,
				microNeurons: 1_000,
			});
			// 70 requests and 7,000 micro-neurons remain.
			expect(ledger.grantLease(renewal("lease-2", 1_000))).toMatchObject({ requests: 8, microNeurons: 875 });
		}));

	it("lasts longer if it was requested for longer and takes at most a 64th of each limit", () =>
		withLedger(({ ledger }) => {
			const long = (id: string, requests: number, ms: number, fields: Partial<Renewal> = {}) =>
				ledger.grantLease(
					renewal(id, requests, { lease: { id, requests, microNeurons: requests * 100, ms }, ...fields }),
				);
			// A 64th of 80 requests is 1, of 8,000 micro-neurons 125.
			expect(long("one", 1, 5_000)).toMatchObject({ requests: 1, ms: 5_000 });
			expect(long("long", 1, 600_000)).toMatchObject({ requests: 1, ms: 120_000 });
			expect(long("two", 2, 5_000)).toMatchObject({ requests: 2, ms: 1_000 });
			expect(long("dear", 1, 5_000, { cost: fixedCost(200) })).toBeUndefined();
			const wide = { rates: [{ ...RATE, perMinute: 6_400 }] };
			expect(long("wide", 2, 5_000, wide)).toMatchObject({ requests: 2, ms: 1_000 });
			expect(long("rich", 99, 5_000, { ...wide, budgets: [] })).toMatchObject({ requests: 99, ms: 5_000 });
		}));

	it("is current while the token has the limits of the grant, and the object was not restarted", () =>
		withLedger((bench) => {
			const limits = { requestsPerMinute: 80 };
			const isCurrent = (id: string, token?: { id: string; limits: object }) =>
				bench.ledger.areLeasesCurrent([id], token);
			bench.ledger.grantLease(renewal("of a token", 1), { id: "t", limits });
			bench.ledger.grantLease(renewal("of the operator", 1));
			expect(isCurrent("of a token", { id: "t", limits })).toBe(true);
			expect(isCurrent("of a token", { id: "t", limits: { ...limits } })).toBe(false);
			expect(isCurrent("of the operator")).toBe(true);
			expect(isCurrent("of nothing")).toBe(false);
			expect(bench.ledger.areLeasesCurrent(["of the operator", "of nothing"])).toBe(false);
			bench.restart();
			expect(isCurrent("of a token", { id: "t", limits })).toBe(false);
			bench.time = NOON + 16_000;
			bench.ledger.expire();
			expect(isCurrent("of the operator")).toBe(false);
		}));

	it("is refused if an eighth does not pay for one request", () =>
		withLedger(({ ledger }) => {
			expect(ledger.grantLease(renewal("a", 1, { cost: fixedCost(1_001) }))).toBeUndefined();
			expect(ledger.grantLease(renewal("b", 1, { rates: [{ ...RATE, perMinute: 7 }] }))).toBeUndefined();
			expect(ledger.grantLease(renewal("c", 1, { rates: [{ ...RATE, perMinute: 8 }] }))).toMatchObject({
				requests: 1,
			});
		}));

	it("is refused for a model without a price if the token has a budget", () =>
		withLedger(({ ledger }) => {
			const token = { id: "t", limits: { dailyMicroNeurons: 8_000 } };
			expect(ledger.grantLease(renewal("a", 1, { unpriced: true }), token)).toBeUndefined();
			expect(ledger.grantLease(renewal("b", 1), token)).toMatchObject({ limited: true });
		}));

	it("includes the token's own limits", () =>
		withLedger(({ ledger }) => {
			const token = { id: "t", limits: { requestsPerMinute: 16, dailyMicroNeurons: 1_600 } };
			expect(ledger.grantLease(renewal("a", 50), token)).toMatchObject({ requests: 2, microNeurons: 200 });
		}));

	it("ends before midnight, because its requests belong to the day of its grant", () =>
		withLedger((bench) => {
			bench.time = MIDNIGHT - 300;
			expect(grant(bench).ms).toBe(300);
		}));

	it("ends with its token", () =>
		withLedger((bench) => {
			const like = renewal("lease-1", 1, { rates: [], budgets: [] });
			const long = { ...like, lease: { ...like.lease, ms: 5_000 } };
			const token = { id: "t", limits: {}, expiresOn: bench.time + 3_000 };
			expect(bench.ledger.grantLease(long, token)?.ms).toBe(3_000);
		}));

	it("keeps other requests out of its share", () =>
		withLedger(({ ledger }) => {
			ledger.grantLease(renewal("lease-1", 8));
			const admitted = Array.from({ length: 80 }, () => ledger.admit(admission({ rates: [RATE] }))).filter(
				({ ok }) => ok,
			);
			expect(admitted).toHaveLength(72);
			expect(ledger.admit(admission({ rates: [RATE] }))).toMatchObject({ retryAfter: 60 });
		}));

	it("gives the time of its end if it holds the complete rate", () =>
		withLedger(({ ledger }) => {
			const rates = [{ ...RATE, perMinute: 8 }];
			ledger.grantLease(renewal("lease-1", 1, { rates }));
			expect(ledger.admit(admission({ rates: [{ ...RATE, perMinute: 1 }] }))).toMatchObject({
				failure: "rateLimited",
				retryAfter: 1,
			});
		}));

	it("survives a restart of the object", () =>
		withLedger((bench) => {
			grant(bench);
			bench.restart();
			expect(state(bench)).toEqual([0, 400, 4]);
			bench.ledger.book(batch({ requests: [leased("a")] }));
			bench.restart();
			expect(state(bench)).toEqual([0, 400, 4]);
			expect(rows(bench)).toEqual([["a", "open", 0]]);
			// It lasts as long as before.
			bench.time = NOON + 500;
			bench.ledger.expire();
			expect(state(bench)).toEqual([0, 400, 4]);
		}));
});

describe("a batch", () => {
	it("books requests with and without a settlement, and frees what remains of a returned lease", () =>
		withLedger((bench) => {
			grant(bench);
			const requests = [leased("a", { settlement: settlement("a", { microNeurons: 60 }) }), leased("b")];
			bench.ledger.book(batch({ requests }));
			expect(rows(bench)).toEqual([
				["a", "ok", 60],
				["b", "open", 0],
			]);
			// The settled request takes its cost of 60 from the lease, the open one its reservation of 100: 240 remain, and 100 are its own.
			expect(state(bench)).toEqual([60, 340, 4]);
			bench.ledger.book(
				batch({ settlements: [settlement("b", { microNeurons: 70 })], returned: ["lease-1"] }),
			);
			expect(rows(bench)).toEqual([
				["a", "ok", 60],
				["b", "ok", 70],
			]);
			expect(state(bench)).toEqual([130, 0, 2]);
			expect(total(bench)).toBe(130);
		}));

	it.each([-60, 1.5, Number.NaN])(
		"books the reservation for a cost of %d, and takes it from the lease",
		(microNeurons) =>
			withLedger((bench) => {
				grant(bench);
				bench.ledger.book(
					batch({ requests: [leased("a", { settlement: settlement("a", { microNeurons }) })] }),
				);
				expect(state(bench)).toEqual([100, 300, 4]);
			}),
	);

	it("is booked once, however often it arrives", () =>
		withLedger((bench) => {
			grant(bench);
			const sent = batch({
				requests: [leased("a", { settlement: settlement("a", { microNeurons: 60 }) })],
				returned: ["lease-1"],
			});
			bench.ledger.book(sent);
			bench.ledger.book(sent);
			bench.restart();
			bench.ledger.book(sent);
			expect(rows(bench)).toEqual([["a", "ok", 60]]);
			expect(state(bench)).toEqual([60, 0, 1]);
		}));

	it("that is older than the last one of its journal is reported as such", () =>
		withLedger((bench) => {
			const [first, second] = [batch({ requests: [] }), batch({ requests: [] })];
			expect([first, second, second, first].map((each) => bench.ledger.book(each))).toEqual([
				"new",
				"new",
				"last",
				"older",
			]);
		}));

	it("of another journal has its own number", () =>
		withLedger((bench) => {
			grant(bench);
			bench.ledger.book(batch({ journal: "x", sequence: 1, requests: [leased("a")] }));
			bench.ledger.book(batch({ journal: "y", sequence: 1, requests: [leased("b")] }));
			expect(rows(bench)).toEqual([
				["a", "open", 0],
				["b", "open", 0],
			]);
		}));

	it("has the time of the admission, between the grant and the end of the lease", () =>
		withLedger((bench) => {
			grant(bench);
			bench.time = NOON + 5_000;
			const at = [-5, 400, 7_000].map((afterMs, i) => leased(`r${i}`, { afterMs }));
			bench.ledger.book(batch({ requests: at }));
			const times = bench.ledger.requests({}).requests.map(({ admittedAt }) => admittedAt - NOON);
			expect(times.reverse()).toEqual([0, 400, 999]);
		}));

	it("does not open a request that is never settled for longer than its hold time", () =>
		withLedger((bench) => {
			bench.ledger.grantLease(renewal("lease-1", 1, { holdMs: 60_000 }));
			bench.time = NOON + 600;
			bench.ledger.book(batch({ requests: [leased("a", { afterMs: 500 })], returned: ["lease-1"] }));
			bench.time = NOON + 60_499;
			bench.ledger.expire();
			expect(rows(bench)).toEqual([["a", "open", 0]]);
			bench.time++;
			bench.ledger.expire();
			expect(rows(bench)).toEqual([["a", "expired", 100]]);
		}));
});

describe("a lease that is not returned", () => {
	const OVERDUE = NOON + 1_000 + 15_000;

	it("is charged with what remains of it, in one row", () =>
		withLedger((bench) => {
			grant(bench);
			bench.ledger.book(
				batch({ requests: [leased("a", { settlement: settlement("a", { microNeurons: 10 }) })] }),
			);
			expect(bench.ledger.nextLeaseExpiry()).toBe(OVERDUE);
			bench.time = OVERDUE - 1;
			bench.ledger.expire();
			expect(state(bench)).toEqual([10, 390, 4]);
			bench.time++;
			bench.ledger.expire();
			expect(rows(bench)).toEqual([
				["a", "ok", 10],
				["lease-1", "expired", 390],
			]);
			expect(state(bench)).toEqual([400, 0, 4]);
			expect(total(bench)).toBe(400);
			bench.restart();
			bench.ledger.expire();
			expect(rows(bench)).toHaveLength(2);
			expect(bench.ledger.nextLeaseExpiry()).toBe(Number.POSITIVE_INFINITY);
		}));

	it("is charged nothing, but stays known, for a model without a price", () =>
		withLedger((bench) => {
			const free = {
				...renewal("lease-1", 4, { cost: fixedCost(0) }),
				lease: { id: "lease-1", requests: 4, microNeurons: 0 },
			};
			bench.ledger.grantLease(free);
			bench.time = OVERDUE;
			bench.ledger.expire();
			expect(state(bench)).toEqual([0, 0, 4]);
			bench.ledger.book(
				batch({ requests: [leased("a", { reserved: 0, settlement: settlement("a", { outputTokens: 7 }) })] }),
			);
			expect(rows(bench)).toEqual([
				["lease-1", "expired", 0],
				["a", "ok", 0],
			]);
		}));

	it("is charged in time after a clock that was ahead", () =>
		withLedger((bench) => {
			bench.time = NOON + 7_200_000;
			grant(bench);
			bench.time = NOON;
			vi.spyOn(console, "error").mockImplementation(() => {});
			expect(state(bench)).toEqual([0, 400, 4]);
			bench.time = OVERDUE + 1_000;
			bench.ledger.expire();
			expect(total(bench)).toBe(400);
			vi.restoreAllMocks();
		}));

	it("costs nothing if all its requests are reported", () =>
		withLedger((bench) => {
			grant(bench, 1);
			bench.ledger.book(
				batch({
					requests: [leased("a", { reserved: 40, settlement: settlement("a", { microNeurons: 10 }) })],
				}),
			);
			bench.time = OVERDUE;
			bench.ledger.expire();
			expect(rows(bench)).toEqual([["a", "ok", 10]]);
			expect(state(bench)).toEqual([10, 0, 1]);
		}));

	it("is charged less by requests that are reported later, and has no charge after a later return", () =>
		withLedger((bench) => {
			grant(bench);
			bench.time = OVERDUE;
			bench.ledger.expire();
			expect([total(bench), ...state(bench)]).toEqual([400, 400, 0, 4]);
			bench.ledger.book(
				batch({ requests: [leased("a", { settlement: settlement("a", { microNeurons: 10 }) })] }),
			);
			expect(rows(bench)).toEqual([
				["lease-1", "expired", 390],
				["a", "ok", 10],
			]);
			expect(total(bench)).toBe(400);
			bench.ledger.book(batch({ requests: [leased("b")] }));
			expect(state(bench).slice(0, 2)).toEqual([300, 100]);
			bench.restart();
			expect(state(bench).slice(0, 2)).toEqual([300, 100]);
			bench.ledger.book(
				batch({ settlements: [settlement("b", { microNeurons: 20 })], returned: ["lease-1"] }),
			);
			const settled = (): void => {
				expect(rows(bench)).toEqual([
					["a", "ok", 10],
					["b", "ok", 20],
				]);
				expect(bench.ledger.requests({ leases: true }).requests).toEqual([]);
				expect(bench.ledger.usage({ by: [] }).total).toMatchObject({ requests: 2, microNeurons: 30 });
				expect(state(bench).slice(0, 2)).toEqual([30, 0]);
			};
			settled();
			bench.restart();
			settled();
		}));

	it("costs nothing after its charge is forgiven, and later reports cost what they used", () =>
		withLedger((bench) => {
			grant(bench);
			expect(bench.ledger.forgiveLease("lease-1")).toBeUndefined();
			bench.time = OVERDUE;
			bench.ledger.expire();
			bench.ledger.book(
				batch({ requests: [leased("a", { settlement: settlement("a", { microNeurons: 10 }) })] }),
			);
			const charges = () => bench.ledger.requests({ leases: true }).requests;
			expect(charges()).toMatchObject([{ ticket: "lease-1", microNeurons: 390, reservedMicroNeurons: 400 }]);
			bench.time = OVERDUE + 5;
			const forgiven = { ticket: "lease-1", outcome: "expired", microNeurons: 0, forgivenAt: OVERDUE + 5 };
			expect(bench.ledger.forgiveLease("lease-1")).toMatchObject(forgiven);
			expect([total(bench), ...state(bench).slice(0, 2)]).toEqual([10, 10, 0]);
			bench.time++;
			expect(bench.ledger.forgiveLease("lease-1")).toMatchObject(forgiven);
			bench.restart();
			bench.ledger.book(
				batch({
					requests: [leased("b", { settlement: settlement("b", { microNeurons: 20 }) })],
					returned: ["lease-1"],
				}),
			);
			expect([total(bench), ...state(bench).slice(0, 2)]).toEqual([30, 30, 0]);
			expect(charges()).toMatchObject([forgiven]);
			expect(bench.ledger.forgiveLease("a")).toBeUndefined();
		}));

	it("keeps its charge if the report arrives more than an hour late", () =>
		withLedger((bench) => {
			grant(bench);
			bench.time = OVERDUE;
			bench.ledger.expire();
			bench.time = NOON + 1_000 + 3_600_000;
			bench.ledger.sweep();
			bench.ledger.book(batch({ requests: [leased("a")] }));
			expect(rows(bench)).toEqual([["lease-1", "expired", 400]]);
			expect(bench.ledger.requests({}).requests[0]).toMatchObject({ model: MODEL, task: TASK });
		}));

	it("is not changed by a copy of a batch that arrives as long as the lease can be reported", () =>
		withLedger((bench) => {
			const longest = { id: "lease-1", requests: 4, microNeurons: 400, ms: 120_000 };
			const wide = [{ ...RATE, perMinute: 6_400 }];
			expect(
				bench.ledger.grantLease(renewal("lease-1", 4, { lease: longest, rates: wide, budgets: [] })),
			).toMatchObject({ ms: 120_000 });
			const report = batch({
				requests: [leased("a", { settlement: settlement("a", { microNeurons: 10 }) })],
			});
			bench.ledger.book(report);
			bench.time = NOON + 135_000;
			bench.ledger.expire();
			const books = () => [total(bench), ...rows(bench)];
			const booked = books();
			expect(booked).toHaveLength(3);
			for (const hourLater of [3_600_000, 3_719_999, 3_720_000, 3_800_000]) {
				bench.time = NOON + hourLater;
				bench.ledger.sweep();
				bench.ledger.book(report);
				expect(books(), `${hourLater} ms after the batch`).toEqual(booked);
			}
		}));
});
