/** Steps of an account's object that depend on its tokens: batches of leases, counted requests, limits. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Admission, JournalBatch } from "../../../src/accounts/admission.ts";
import { admission, callsTo, fixedCost, newAccount, settlement, stubOf, TASK, tokenOf } from "../fixtures.ts";

const UNKNOWN: Admission["credential"] = { kind: "token", hash: "unknown" };
const RATE = { key: `task:${TASK}`, perMinute: 2 };
const BUDGET = { key: "account", microNeurons: 1_000, failure: "accountLimited" } as const;

const batch = (sequence: number, fields: Partial<JournalBatch> = {}): JournalBatch => ({
	journal: "j",
	sequence,
	requests: [],
	settlements: [],
	returned: [],
	renewals: [],
	...fields,
});

describe("a batch of a journal", () => {
	const renewal = (id: string, fields: Partial<Admission> = {}) => {
		const { ticket: _, ...like } = admission({ cost: fixedCost(10), budgets: [BUDGET], ...fields });
		return { ...like, lease: { id, requests: 2, microNeurons: 20 } };
	};

	it("is answered once: an older copy gets no leases", async () => {
		const account = newAccount();
		const answers = [
			await callsTo(account).journal(batch(1, { renewals: [renewal("a")] })),
			await callsTo(account).journal(batch(2, { renewals: [renewal("b")] })),
			await callsTo(account).journal(batch(1, { renewals: [renewal("a")] })),
		];
		expect(answers).toMatchObject([[{ id: "a", requests: 2 }], [{ id: "b", requests: 2 }], []]);
	});

	it("that comes again gets the same leases, and none that its first copy did not get", async () => {
		const account = newAccount();
		const all = { cost: fixedCost(1_000), budgets: [BUDGET] };
		const first = admission(all);
		await callsTo(account).admit(first, []);
		const renewals = [renewal("a"), renewal("b", { budgets: [] })];
		const copies = [await callsTo(account).journal(batch(1, { renewals }))];
		// Now the budget would pay for the first lease, too. Nobody would return it, so it would be charged.
		await callsTo(account).settle([settlement(first.ticket, { microNeurons: 0 })]);
		copies.push(await callsTo(account).journal(batch(1, { renewals })));
		for (const [refused, granted] of copies) {
			expect(refused ?? undefined).toBeUndefined();
			expect(granted).toMatchObject({ id: "b", requests: 2 });
		}
	});

	it("gets no lease for an invalid token, and one for a valid token", async () => {
		const account = newAccount();
		const credential = await tokenOf(account);
		const renewals = [renewal("a", { credential: UNKNOWN }), renewal("b", { credential })];
		const [refused, granted] = await callsTo(account).journal(batch(1, { renewals }));
		expect(refused ?? undefined).toBeUndefined();
		expect(granted).toMatchObject({ id: "b", requests: 2, isBudgeted: true });
	});

	it("without a lease does not wake the object, but a request after it does", async () => {
		const account = newAccount();
		expect(await callsTo(account).journal(batch(1))).toEqual([]);
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(false);
		await callsTo(account).admit(admission(), []);
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(true);
	});

	it("wakes the object when its lease expires", async () => {
		const account = newAccount();
		await callsTo(account).journal(batch(1, { renewals: [renewal("a")] }));
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(true);
	});
});

describe("a counted request", () => {
	const request = { task: TASK, rates: [RATE] };

	it("is refused above its rate, for a valid credential", async () => {
		const account = newAccount();
		const credential = await tokenOf(account);
		const answers = [];
		for (let count = 0; count < 3; count++)
			answers.push(await callsTo(account).verify(credential, "run", request));
		expect(answers).toMatchObject([{ ok: true }, { ok: true }, { ok: false, failure: "rateLimited" }]);
		expect(await callsTo(account).verify(UNKNOWN, "run", request)).toMatchObject({
			ok: false,
			failure: "authentication",
		});
		// Without a request nothing is counted.
		expect(await callsTo(account).verify(credential, "run")).toMatchObject({ ok: true });
	});

	it("that is refused wakes the object, which then writes the refusal", async () => {
		const account = newAccount();
		const credential = await tokenOf(account);
		for (let count = 0; count < 3; count++) await callsTo(account).verify(credential, "run", request);
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(true);
	});
});

describe("the limits of a token", () => {
	const query = { rates: [RATE], budgets: [BUDGET] };

	it("are those of the account for an invalid token, with the refusal of its request", async () => {
		const account = newAccount();
		await tokenOf(account, { dailyMicroNeurons: 10 });
		const status = await callsTo(account).limitStatus({ ...query, credential: UNKNOWN });
		expect(status.budgets).toMatchObject([{ key: "account" }]);
		expect(status).not.toHaveProperty("answer");
		const refused = await callsTo(account).limitStatus({
			...query,
			credential: UNKNOWN,
			request: admission(),
		});
		expect(refused.answer).toMatchObject({ ok: false, failure: "authentication" });
	});

	it("include its own budget", async () => {
		const account = newAccount();
		const credential = await tokenOf(account, { dailyMicroNeurons: 10 });
		const status = await callsTo(account).limitStatus({ ...query, credential });
		expect(status.budgets).toMatchObject([{ key: "account" }, { key: "token:token-1", microNeurons: 10 }]);
	});
});
