import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Admission, Budget, Settlement } from "../../../src/accounts/admission.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import type { OpenAccount } from "../../../src/accounts/durable/open-account.ts";
import type { UsageQuery } from "../../../src/accounts/durable/usage.ts";
import {
	admission,
	callsTo,
	fixedCost,
	MODEL,
	newAccount,
	settlement,
	stubOf,
	TASK,
	tokenOf,
} from "../fixtures.ts";

const OPERATOR = { kind: "operator" } as const;
const ACCOUNT: Budget = { key: "account", microNeurons: 1_000_000, failure: "accountLimited" };

const status = async (account: string, credential: Admission["credential"] = OPERATOR) =>
	callsTo(account).limitStatus({ credential, rates: [], budgets: [ACCOUNT] });

describe("500 concurrent admissions with a limit of 100", () => {
	/** Returns the number of admitted requests, and the failures of the others. */
	const admitAll = async (account: string, fields: (index: number) => Partial<Admission>) => {
		const answers = await Promise.all(
			Array.from({ length: 500 }, (_, index) => callsTo(account).admit(admission(fields(index)), [])),
		);
		return {
			passed: answers.filter(({ ok }) => ok).length,
			refusals: new Set(answers.flatMap((answer) => (answer.ok ? [] : [answer.failure]))),
		};
	};

	it("admit exactly 100 requests of a task", async () => {
		const rates = [{ key: `task:${TASK}`, perMinute: 100 }];
		expect(await admitAll(newAccount(), () => ({ rates }))).toEqual({
			passed: 100,
			refusals: new Set(["rateLimited"]),
		});
	});

	it("admit exactly 100 within the account's neurons, for any models", async () => {
		const account = newAccount();
		const fields = (index: number) => ({
			model: `@cf/a/model-${index % 7}`,
			budgets: [ACCOUNT],
			cost: fixedCost(10_000),
		});
		expect(await admitAll(account, fields)).toEqual({ passed: 100, refusals: new Set(["budgetReserved"]) });
		const [budget] = (await status(account)).budgets;
		expect(budget).toMatchObject({
			spentMicroNeurons: 0,
			reservedMicroNeurons: 1_000_000,
			remainingMicroNeurons: 0,
		});
	});

	it("admit exactly 100 of each of two models", async () => {
		const model = (index: number): string => `@cf/a/model-${index % 2}`;
		const fields = (index: number): Partial<Admission> => ({
			model: model(index),
			rates: [{ key: `model:${model(index)}`, perMinute: 100 }],
			budgets: [{ key: `model:${model(index)}`, microNeurons: 1_000, failure: "budgetExceeded" }],
			cost: fixedCost(10),
		});
		expect((await admitAll(newAccount(), fields)).passed).toBe(200);
	});

	it("admit exactly 100 within a token's own requests and neurons", async () => {
		const account = newAccount();
		const credential = await tokenOf(account, { requestsPerMinute: 100 });
		expect((await admitAll(account, () => ({ credential }))).passed).toBe(100);
		const other = newAccount();
		const frugal = await tokenOf(other, { dailyMicroNeurons: 1_000 });
		expect((await admitAll(other, () => ({ credential: frugal, cost: fixedCost(10) }))).passed).toBe(100);
		expect((await status(other, frugal)).budgets).toMatchObject([
			{ key: "account" },
			{ key: "token:token-1" },
		]);
	});

	it("get together no more output than the budget pays for", async () => {
		const account = newAccount();
		const chat = {
			fixedMicroNeurons: 1_000,
			microNeuronsPerOutputToken: 70,
			outputTokens: 256,
			outputUnbounded: true,
		};
		const answers = await Promise.all(
			Array.from({ length: 500 }, () =>
				callsTo(account).admit(admission({ budgets: [ACCOUNT], cost: chat }), []),
			),
		);
		const granted = answers.flatMap((answer) => (answer.ok ? [answer.outputTokens ?? Number.NaN] : []));
		const cost = granted.reduce((sum, tokens) => sum + 1_000 + 70 * tokens, 0);
		expect(granted.length).toBeGreaterThan(50);
		expect(cost).toBeLessThanOrEqual(1_000_000);
		expect(1_000_000 - cost).toBeLessThan(1_070);
	});
});

describe("admit", () => {
	it("verifies the token and books the settlements of the call", async () => {
		const account = newAccount();
		const credential = await tokenOf(account);
		const first = admission({ credential, budgets: [ACCOUNT], cost: fixedCost(600_000) });
		const second = admission({ credential, budgets: [ACCOUNT], cost: fixedCost(600_000) });
		expect(await callsTo(account).admit(first, [])).toEqual({ ok: true });
		expect((await callsTo(account).admit(second, [])).ok).toBe(false);
		const settled = [settlement(first.ticket, { microNeurons: 400_000 })];
		expect(await callsTo(account).admit(second, settled)).toEqual({ ok: true });
		const { rows } = await callsTo(account).usage({ by: ["token"] });
		expect(rows).toMatchObject([{ token: "token-1", requests: 1, microNeurons: 400_000 }]);
	});

	it("books the settlements of a call whose request is refused", async () => {
		const account = newAccount();
		const first = admission({ cost: fixedCost(5) });
		await callsTo(account).admit(first, []);
		const refused = await callsTo(account).admit(admission({ credential: { kind: "token", hash: "00" } }), [
			settlement(first.ticket, { microNeurons: 4 }),
		]);
		expect(refused).toEqual({ ok: false, failure: "authentication" });
		expect((await callsTo(account).usage({ by: [] })).total).toMatchObject({ requests: 1, microNeurons: 4 });
	});

	it.each(["new", "existing"])(
		"does not reserve for a request that was cancelled before its admission, in a %s account",
		async (kind) => {
			const account = newAccount();
			if (kind === "existing") await callsTo(account).admit(admission(), []);
			const { open } = await status(account);
			const request = admission({ budgets: [ACCOUNT], cost: fixedCost(600_000) });
			await callsTo(account).settle([settlement(request.ticket, { outcome: "failed" })]);
			expect(await callsTo(account).admit(request, [])).toEqual({ ok: false, failure: "ledgerUnavailable" });
			expect(await status(account)).toMatchObject({ open, budgets: [{ reservedMicroNeurons: 0 }] });
			// A cancelled ticket does not affect another request of the same call.
			const other = admission({ budgets: [ACCOUNT], cost: fixedCost(600_000) });
			const late = settlement(crypto.randomUUID(), { outcome: "failed" });
			expect(await callsTo(account).admit(other, [late])).toEqual({ ok: true });
		},
	);

	it("refuses a token without permission, and an unknown one", async () => {
		const account = newAccount();
		const credential = await tokenOf(account);
		expect(await callsTo(account).verify(credential, "run")).toEqual({ ok: true, token: "token-1" });
		expect(await callsTo(account).verify(credential, "write")).toMatchObject({
			ok: false,
			failure: "forbidden",
		});
		expect(await callsTo(account).verify({ kind: "token", hash: "00" }, "run")).toMatchObject({
			failure: "authentication",
		});
		expect(await callsTo(account).verify(OPERATOR, "tokens-write")).toEqual({ ok: true });
	});
});

const tablesOf = (account: string): Promise<unknown[]> =>
	runInDurableObject(stubOf(account), (_: Account, { storage }) =>
		storage.sql
			.exec<{ name: string }>(
				"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name",
			)
			.toArray()
			.map(({ name }) => name),
	);

it("writes nothing for an unknown token of a new account", async () => {
	const account = newAccount();
	const credential = { kind: "token", hash: "00" } as const;
	const unknown = { ok: false, failure: "authentication" };
	expect(await callsTo(account).admit(admission({ credential }), [settlement("x")])).toEqual(unknown);
	expect(await callsTo(account).verify(credential, "read")).toEqual(unknown);
	expect(await callsTo(account).tokens({ kind: "verify", hash: "00" })).toEqual(unknown);
	expect(await callsTo(account).tokens({ kind: "get", maker: credential, id: "a" })).toEqual(unknown);
	expect(await tablesOf(account)).toEqual([]);
});

it("has tables of tokens and aliases only after their first use", async () => {
	const account = newAccount();
	const used = [
		"accounts",
		"bound_gateway",
		"counted",
		"journals",
		"leases",
		"refusals",
		"requests",
		"segments",
		"usage",
		"used_objects",
	];
	await callsTo(account).admit(admission(), []);
	expect(await tablesOf(account)).toEqual(used);
	const credential = await tokenOf(account);
	expect(await callsTo(account).aliases()).toEqual([]);
	expect(await tablesOf(account)).toEqual(["aliases", ...used, "tokens"].sort());
	expect(await callsTo(account).verify(credential, "run")).toEqual({ ok: true, token: "token-1" });
	await evictDurableObject(stubOf(account));
	expect(await callsTo(account).verify(credential, "run")).toEqual({ ok: true, token: "token-1" });
});

it("keeps an expired token expired when the clock goes back", async () => {
	const start = Date.parse("2040-11-21T12:00:00Z");
	vi.useFakeTimers({ toFake: ["Date"], now: start });
	try {
		const account = newAccount();
		const credential = await tokenOf(account, {}, { expiresOn: start + 1_000 });
		expect(await callsTo(account).verify(credential, "run")).toEqual({ ok: true, token: "token-1" });
		vi.setSystemTime(start + 1_000);
		const expired = { ok: false, failure: "authentication" };
		expect(await callsTo(account).verify(credential, "run")).toMatchObject(expired);
		vi.setSystemTime(start);
		expect(await callsTo(account).verify(credential, "run")).toMatchObject(expired);
	} finally {
		vi.useRealTimers();
	}
});

describe("an eviction", () => {
	it("changes no state", async () => {
		const account = newAccount();
		const credential = await tokenOf(account, { dailyMicroNeurons: 900, requestsPerMinute: 7 });
		const rates = [{ key: `task:${TASK}`, perMinute: 5 }];
		const settled: Settlement[] = [];
		for (let i = 0; i < 4; i++) {
			const request = admission({ credential, rates, budgets: [ACCOUNT], cost: fixedCost(100) });
			expect((await callsTo(account).admit(request, settled)).ok).toBe(true);
			if (i < 2) settled.push(settlement(request.ticket, { microNeurons: 30 + i }));
		}
		const query = { credential, rates, budgets: [ACCOUNT] };
		const before = await callsTo(account).limitStatus(query);
		expect(before).toMatchObject({
			open: 2,
			budgets: [{ spentMicroNeurons: 61, reservedMicroNeurons: 200 }, {}],
		});
		expect(before.rates).toMatchObject([{ used: 4 }, { key: "token:token-1", used: 4, remaining: 3 }]);
		await evictDurableObject(stubOf(account));
		expect(await callsTo(account).limitStatus(query)).toEqual(before);
	});
});

describe("the alarm", () => {
	// Far ahead of the runtime's clock, so that no alarm fires by itself.
	const START = Date.parse("2040-11-21T12:00:00Z");
	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["Date"], now: START });
	});
	afterEach(() => {
		vi.useRealTimers();
	});

	const alarmOf = (account: string): Promise<number | null> =>
		runInDurableObject(stubOf(account), (_: Account, { storage }) => storage.getAlarm());

	it("charges the reservations of expired requests, and fires again for the others", async () => {
		const account = newAccount();
		const [a, b] = [
			admission({ cost: fixedCost(70), holdMs: 60_000 }),
			admission({ cost: fixedCost(5), holdMs: 90_000 }),
		];
		await callsTo(account).admit(a, []);
		await callsTo(account).admit(b, []);
		expect(await alarmOf(account)).toBe(START + 60_000);
		vi.setSystemTime(START + 60_000);
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(true);
		expect((await callsTo(account).requests({})).requests).toMatchObject([
			{ ticket: b.ticket, outcome: "open" },
			{ ticket: a.ticket, outcome: "expired", microNeurons: 70, estimated: true },
		]);
		expect(await alarmOf(account)).toBe(START + 90_000);
	});

	it("also fires after an eviction, without further calls", async () => {
		const account = newAccount();
		await callsTo(account).admit(admission({ cost: fixedCost(70), holdMs: 60_000 }), []);
		await evictDurableObject(stubOf(account));
		vi.setSystemTime(START + 60_001);
		expect(await runDurableObjectAlarm(stubOf(account))).toBe(true);
		expect((await callsTo(account).usage({ by: ["day"] })).rows).toMatchObject([
			{ day: "2040-11-21", requests: 1, microNeurons: 70 },
		]);
		// The next alarm deletes rows.
		expect(await alarmOf(account)).toBe(START + 60_001 + 7 * 86_400_000);
	});

	it("is set only if there is none, or if it would be late", async () => {
		const account = newAccount();
		const set = await runInDurableObject(stubOf(account), (_: Account, { storage }) =>
			vi.spyOn(storage, "setAlarm"),
		);
		const admit = (holdMs: number) => callsTo(account).admit(admission({ holdMs }), []);
		await admit(60_000);
		await admit(60_000);
		await admit(90_000);
		expect(set).toHaveBeenCalledTimes(1);
		await admit(30_000);
		expect(set.mock.calls).toEqual([[START + 60_000], [START + 30_000]]);
		// The runtime has dropped the alarm.
		vi.setSystemTime(START + 30_000 + 60_001);
		await admit(90_000);
		expect(set).toHaveBeenCalledTimes(3);
	});
});

describe("reports", () => {
	const DAY = "2040-11-21";
	const OTHER = "@cf/baai/bge-m3";

	/** Three requests of two models, one of them failed. */
	async function used(): Promise<{ account: string; tickets: string[] }> {
		const account = newAccount();
		const credential = await tokenOf(account);
		const request = [
			admission({ credential, cost: fixedCost(100) }),
			admission({ cost: fixedCost(100) }),
			admission({ model: OTHER, task: "Text Embeddings", cost: fixedCost(100) }),
		];
		for (const one of request) await callsTo(account).admit(one, []);
		const [a = "", b = "", c = ""] = request.map(({ ticket }) => ticket);
		await callsTo(account).settle([
			settlement(a, { microNeurons: 40, inputTokens: 10, cachedTokens: 3, outputTokens: 7 }),
			settlement(b, { outcome: "failed", backend: "", attempts: 3, code: 3040 }),
			settlement(c, { microNeurons: 5, inputTokens: 9, backend: "tei", estimated: true }),
		]);
		return { account, tickets: [a, b, c] };
	}

	beforeEach(() => {
		vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(`${DAY}T12:00:00Z`) });
	});
	afterEach(() => {
		vi.useRealTimers();
	});

	it("have usage by day, model, task, token and backend", async () => {
		const { account } = await used();
		const total = {
			requests: 3,
			failed: 1,
			overruns: 0,
			inputTokens: 19,
			cachedTokens: 3,
			outputTokens: 7,
			microNeurons: 45,
			answered: 2,
			latencyMs: 20,
			firstTokenMs: 8,
		};
		const counts = (
			requests: number,
			failed: number,
			input: number,
			cached: number,
			output: number,
			neurons: number,
		) => ({
			requests,
			failed,
			overruns: 0,
			inputTokens: input,
			cachedTokens: cached,
			outputTokens: output,
			microNeurons: neurons,
			answered: requests - failed,
			latencyMs: 10 * (requests - failed),
			firstTokenMs: 4 * (requests - failed),
		});
		const usage = async (query: UsageQuery) => callsTo(account).usage(query);
		expect(await usage({ by: [] })).toEqual({ rows: [total], total, truncated: false });
		expect(await usage({ by: ["day"] })).toEqual({ rows: [{ day: DAY, ...total }], total, truncated: false });
		expect((await usage({ by: ["token", "model"] })).rows).toEqual([
			{ model: OTHER, token: "", ...counts(1, 0, 9, 0, 0, 5) },
			{ model: MODEL, token: "", ...counts(1, 1, 0, 0, 0, 0) },
			{ model: MODEL, token: "token-1", ...counts(1, 0, 10, 3, 7, 40) },
		]);
		expect((await usage({ by: ["task"] })).rows).toEqual([
			{ task: "Text Embeddings", ...counts(1, 0, 9, 0, 0, 5) },
			{ task: TASK, ...counts(2, 1, 10, 3, 7, 40) },
		]);
		expect(
			(await usage({ by: ["backend"] })).rows.map(({ backend, requests }) => [backend, requests]),
		).toEqual([
			["", 1],
			["engine", 1],
			["tei", 1],
		]);
	});

	it("are filtered, with the total of the matching rows", async () => {
		const { account } = await used();
		const requests = async (query: Partial<UsageQuery>): Promise<number> =>
			(await callsTo(account).usage({ by: ["day"], ...query })).total.requests;
		expect(await requests({ model: OTHER })).toBe(1);
		expect(await requests({ task: TASK })).toBe(2);
		expect(await requests({ token: "" })).toBe(2);
		expect(await requests({ token: "token-1", model: OTHER })).toBe(0);
		expect(await requests({ backend: "tei" })).toBe(1);
		expect(await requests({ from: DAY, to: DAY })).toBe(3);
		expect(await requests({ from: "2040-11-22" })).toBe(0);
		expect(await requests({ to: "2040-11-20" })).toBe(0);
		const { rows } = await callsTo(account).usage({ by: ["day"], model: "none" });
		expect(rows).toEqual([]);
	});

	it("list recent requests, newest first, in pages", async () => {
		const { account, tickets } = await used();
		const [a, b, c] = tickets;
		const first = await callsTo(account).requests({ limit: 2 });
		expect(first.requests.map(({ ticket }) => ticket)).toEqual([c, b]);
		const { cursor } = first;
		if (cursor === undefined) throw new Error("no cursor");
		// A new request does not shift the pages.
		await callsTo(account).admit(admission(), []);
		const second = await callsTo(account).requests({ limit: 2, cursor });
		expect(second).toEqual({
			requests: [
				{
					ticket: a,
					outcome: "ok",
					admittedAt: Date.now(),
					settledAt: Date.now(),
					model: MODEL,
					task: TASK,
					token: "token-1",
					reservedMicroNeurons: 100,
					microNeurons: 40,
					inputTokens: 10,
					cachedTokens: 3,
					outputTokens: 7,
					estimated: false,
					backend: "engine",
					attempts: 1,
					latencyMs: 10,
					firstTokenMs: 4,
				},
			],
		});
		const ticketsOf = async (query: Parameters<OpenAccount["requests"]>[0]) =>
			(await callsTo(account).requests(query)).requests.map(({ ticket }) => ticket);
		expect(await ticketsOf({ model: OTHER })).toEqual([c]);
		expect(await ticketsOf({ outcome: "failed" })).toEqual([b]);
		expect(await ticketsOf({ token: "token-1" })).toEqual([a]);
		expect(await ticketsOf({ outcome: "open" })).toHaveLength(1);
		expect((await callsTo(account).requests({ limit: 1_000 })).requests).toHaveLength(4);
	});
});
