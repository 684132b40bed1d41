/** Several accounts in one object, and their way to another one. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { moveAccount } from "../../../src/accounts/client/account-moves.ts";
import { DirectoryCache } from "../../../src/accounts/client/directory-cache.ts";
import type { Account } from "../../../src/accounts/durable/account.ts";
import { newPlace } from "../../../src/accounts/places.ts";
import { REPORTED_OBJECTS } from "../../../src/accounts/used-objects.ts";
import { admission, callsOf, fixedCost, settlement, tokenOf } from "../fixtures.ts";

const OPERATOR = { kind: "operator" } as const;
const START = Date.parse("2040-11-21T12:00:00Z");

const newShard = () => env.ACCOUNT.getByName(`shard/${crypto.randomUUID()}`);
const usageOf = async (shard: DurableObjectStub<Account>, account: string) =>
	(await callsOf(shard, account).usage({ by: [] })).total;

beforeEach(() => {
	// Far ahead of the runtime's clock, so that no alarm fires by itself.
	vi.useFakeTimers({ toFake: ["Date"], now: START });
});
afterEach(() => {
	vi.useRealTimers();
});

describe("the accounts of an object", () => {
	it("have limits, tokens and books of their own", async () => {
		const shard = newShard();
		const budget = { key: "account", microNeurons: 100, failure: "accountLimited" } as const;
		const spend = (account: string) =>
			callsOf(shard, account).admit(admission({ budgets: [budget], cost: fixedCost(70) }), []);
		expect(await spend("a")).toEqual({ ok: true });
		expect(await spend("b")).toEqual({ ok: true });
		expect(await spend("a")).toMatchObject({ ok: false, failure: "budgetReserved" });
		const credential = await tokenOf("a", {}, {}, callsOf(shard, "a"));
		expect(await callsOf(shard, "a").verify(credential, "run")).toMatchObject({ ok: true });
		expect(await callsOf(shard, "b").verify(credential, "run")).toMatchObject({ ok: false });
		await evictDurableObject(shard);
		expect(await spend("b")).toMatchObject({ ok: false, failure: "budgetReserved" });
		expect((await callsOf(shard, "a").requests({})).requests).toHaveLength(1);
	});

	it("are called together, and a failure is that of one call", async () => {
		const shard = newShard();
		const [one, other] = [admission(), admission()];
		const { answers } = await shard.callAll([
			{ account: "a", method: "admitAll", parameters: [[one], []] },
			{ account: "b", method: "admitAll", parameters: [[other], []] },
			// The ticket is open.
			{ account: "a", method: "admitAll", parameters: [[one], []] },
			{ account: "b", method: "settle", parameters: [[settlement(other.ticket, { microNeurons: 5 })]] },
		]);
		expect(answers).toMatchObject([
			{ value: [{ ok: true }] },
			{ value: [{ ok: true }] },
			{ error: `Ticket ${one.ticket} is already open` },
			{ value: undefined },
		]);
		expect(await usageOf(shard, "b")).toMatchObject({ requests: 1, microNeurons: 5 });
		expect((await callsOf(shard, "a").requests({})).requests).toMatchObject([{ outcome: "open" }]);
	});

	it("share one alarm, which wakes those that are due", async () => {
		const shard = newShard();
		const admit = (account: string, holdMs: number) =>
			callsOf(shard, account).admit(admission({ cost: fixedCost(7), holdMs }), []);
		const alarm = () => runInDurableObject(shard, (_: Account, { storage }) => storage.getAlarm());
		await admit("late", 90_000);
		await admit("early", 60_000);
		expect(await alarm()).toBe(START + 60_000);
		vi.setSystemTime(START + 60_000);
		await evictDurableObject(shard);
		expect(await runDurableObjectAlarm(shard)).toBe(true);
		expect(await usageOf(shard, "early")).toMatchObject({ requests: 1, microNeurons: 7 });
		expect(await usageOf(shard, "late")).toMatchObject({ requests: 0 });
		expect(await alarm()).toBe(START + 90_000);
	});

	it("are not due while nothing expires, so an idle object is not woken for a lease that was returned", async () => {
		const shard = newShard();
		const calls = callsOf(shard, "a");
		const lease = { id: "lease-1", requests: 2, microNeurons: 0 };
		const request = admission({ lease });
		await calls.admit(request, []);
		const alarm = () => runInDurableObject(shard, (_: Account, { storage }) => storage.getAlarm());
		expect(await alarm()).toBeLessThan(START + 60_000);
		await calls.journal({
			...{ journal: "j", sequence: 1, requests: [], renewals: [], returned: ["lease-1"] },
			settlements: [settlement(request.ticket)],
		});
		// The sweep of the rows of an account that is used.
		expect(await alarm()).toBe(START + 60 * 60_000);
	});

	it("stay in the tables when more are used than an object has in memory", async () => {
		const shard = newShard();
		const accounts = Array.from({ length: 8_100 }, (_, i) => `account-${i}`);
		const { answers } = await shard.callAll(
			accounts.map((account) => ({
				account,
				method: "admitAll",
				parameters: [[admission({ cost: fixedCost(1) })], []],
			})),
		);
		expect(answers).toEqual(accounts.map(() => ({ value: [{ ok: true }] })));
		const open = (account: string) =>
			callsOf(shard, account).limitStatus({ credential: OPERATOR, rates: [], budgets: [] });
		for (const account of ["account-0", "account-8099"])
			expect(await open(account)).toMatchObject({ open: 1 });
	});
});

describe("an object of an earlier version", () => {
	it("has its rows, under the name of its first call", async () => {
		const object = env.ACCOUNT.getByName(crypto.randomUUID());
		await runInDurableObject(object, async (_, { storage }) => {
			const { sql } = storage;
			await storage.setAlarm(START + 60_000);
			sql.exec(`CREATE TABLE requests (id INTEGER, ticket TEXT NOT NULL, admitted_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
				model TEXT NOT NULL, task TEXT NOT NULL, token TEXT NOT NULL, rate_keys TEXT NOT NULL, reserved INTEGER NOT NULL,
				outcome TEXT, settled_at INTEGER, micro_neurons INTEGER, PRIMARY KEY (id))`);
			sql.exec(
				"INSERT INTO requests VALUES (100000000000001, 't', ?, ?, 'm', 'Text Generation', '', '', 30, NULL, NULL, NULL)",
				...[START - 1_000, START + 60_000],
			);
			sql.exec(`CREATE TABLE bound_gateway (id INTEGER PRIMARY KEY CHECK (id = 1), gateway TEXT NOT NULL)`);
			sql.exec(`INSERT INTO bound_gateway VALUES (1, '{"id":"shop","mode":"required"}')`);
			sql.exec(`CREATE TABLE counted (counted_at INTEGER NOT NULL, key TEXT NOT NULL, requests INTEGER NOT NULL,
				PRIMARY KEY (counted_at, key)) WITHOUT ROWID`);
			sql.exec("INSERT INTO counted VALUES (?, 'task:x', 3)", START - 1_000);
		});
		await evictDurableObject(object);
		// The alarm may come before any call.
		await runDurableObjectAlarm(object);
		const calls = callsOf(object, "team-a");
		expect((await calls.requests({})).requests).toMatchObject([
			{ ticket: "t", outcome: "open", reservedMicroNeurons: 30, admittedAt: START - 1_000 },
		]);
		expect(await calls.boundGateway()).toEqual({ id: "shop", mode: "required" });
		// That version did not record them.
		expect(await calls.usedObjects()).toEqual([...REPORTED_OBJECTS]);
		const rates = [{ key: "task:x", perMinute: 10 }];
		expect((await calls.limitStatus({ credential: OPERATOR, rates, budgets: [] })).rates).toMatchObject([
			{ used: 3 },
		]);
		vi.setSystemTime(START + 60_000);
		await runDurableObjectAlarm(object);
		expect((await calls.usage({ by: [] })).total).toMatchObject({ requests: 1, microNeurons: 30 });
	});
});

describe("the classes of objects that an account uses", () => {
	it("are none at first, also after a start of its object, and each is recorded once", async () => {
		const object = env.ACCOUNT.getByName(crypto.randomUUID());
		const [used, unused] = [callsOf(object, "used"), callsOf(object, "unused")];
		expect(await used.usedObjects()).toEqual([]);
		await used.admit(admission(), []);
		await unused.admit(admission(), []);
		await evictDurableObject(object);
		expect(await used.usedObjects()).toEqual([]);
		expect(await used.useObject("BLOBS")).toEqual(["BLOBS"]);
		expect(await used.useObject("VECTOR_REGISTRY")).toEqual(["BLOBS", "VECTOR_REGISTRY"]);
		expect(await used.useObject("BLOBS")).toEqual(["BLOBS", "VECTOR_REGISTRY"]);
		await evictDurableObject(object);
		expect(await used.usedObjects()).toEqual(["BLOBS", "VECTOR_REGISTRY"]);
		expect(await unused.usedObjects()).toEqual([]);
	});
});

describe("a move", () => {
	const world = () => {
		const directory = new DirectoryCache({
			...{ now: () => Date.now(), shards: 4, wait: (ms: number) => scheduler.wait(ms), waitUntil: () => {} },
			directory: () => env.DIRECTORY.getByName(`directory ${from}`),
		});
		const from = `shard/${crypto.randomUUID()}`;
		const to = `shard/${crypto.randomUUID()}`;
		return { directory, from, to, services: { directory, namespace: env.ACCOUNT } };
	};

	it("takes all rows of the account along, and none of others", async () => {
		const { directory, from, to, services } = world();
		await env.DIRECTORY.getByName(`directory ${from}`).add([{ id: "a", place: from }]);
		const [source, target] = [env.ACCOUNT.getByName(from), env.ACCOUNT.getByName(to)];
		const before = callsOf(source, "a");
		const credential = await tokenOf("a", { dailyMicroNeurons: 900 }, {}, before);
		await callsOf(source, "b").admit(admission(), []);
		await callsOf(target, "c").admit(admission(), []);
		const settled = Array.from({ length: 300 }, () => admission({ credential, cost: fixedCost(1) }));
		await before.admitAll(settled, []);
		await before.settle(settled.map(({ ticket }) => settlement(ticket, { microNeurons: 1 })));
		const lease = { id: "lease-1", requests: 3, microNeurons: 3 };
		const open = admission({ credential, cost: fixedCost(1), lease });
		await before.admit(open, []);
		await before.setAlias({ alias: "gpt-5.6-sol", model: "@cf/openai/gpt-oss-120b", modified_on: START });
		await before.useObject("JOB_STORE");
		const query = { credential, rates: [], budgets: [] };
		const [status, usage] = [await before.limitStatus(query), await before.usage({ by: ["token"] })];

		expect(await moveAccount("a", to, services)).toBe(true);
		expect(directory.known("a")).toBe(to);
		const after = callsOf(target, "a");
		expect(await after.limitStatus(query)).toEqual(status);
		expect(await after.usage({ by: ["token"] })).toEqual(usage);
		expect(await after.aliases()).toHaveLength(1);
		expect(await after.usedObjects()).toEqual(["JOB_STORE"]);
		expect(await callsOf(target, "c").usedObjects()).toEqual([]);
		// A lease that was granted before is booked, and charged at its end.
		await after.settle([settlement(open.ticket, { microNeurons: 1 })]);
		vi.setSystemTime(START + 60_000);
		await runDurableObjectAlarm(target);
		expect((await after.usage({ by: [] })).total).toMatchObject({ requests: 302, microNeurons: 304 });

		await expect(before.aliases()).rejects.toThrow("moved");
		const rowsOf = (stub: DurableObjectStub<Account>, account: number) =>
			runInDurableObject(stub, (_, { storage: { sql } }) =>
				sql.exec("SELECT count(*) AS n FROM segments WHERE account = ?", account).one(),
			);
		expect(await rowsOf(source, 1)).toEqual({ n: 0 });
		for (const [stub, account] of [
			[source, "b"],
			[target, "c"],
		] as const)
			expect((await callsOf(stub, account).requests({})).requests).toHaveLength(1);
		expect(await moveAccount("a", to, services)).toBe(false);
	});

	it("that was interrupted is made again after half a minute, and its late steps change nothing", async () => {
		const { from, to, services } = world();
		await env.DIRECTORY.getByName(`directory ${from}`).add([{ id: "a", place: from }]);
		const [source, target] = [env.ACCOUNT.getByName(from), env.ACCOUNT.getByName(to)];
		await callsOf(source, "a").admit(admission({ holdMs: 3_600_000, cost: fixedCost(3) }), []);
		const { move = 0 } = (await source.leave("a", to)) ?? {};
		await target.expect("a", move, to);
		const page = await source.page("a", move, "requests", 0);
		if (page) await target.accept("a", move, page);
		// Here the mover ends.
		expect(await moveAccount("a", to, services)).toBe(false);
		expect((await source.interruptedMove("a")) ?? undefined).toBeUndefined();
		vi.setSystemTime(START + 30_000);
		expect(await source.interruptedMove("a")).toBe(to);
		expect(await moveAccount("a", to, services)).toBe(true);
		expect((await callsOf(target, "a").requests({})).requests).toMatchObject([{ outcome: "open" }]);
		if (!page) throw new Error("no page");
		const late = [target.expect("a", move, to), target.accept("a", move, page), target.arrive("a", move)];
		expect(await Promise.all([...late, source.forget("a", move)])).toEqual([false, false, false, false]);
		expect((await callsOf(target, "a").requests({})).requests).toHaveLength(1);
	});

	it("that was interrupted is made again also if the clock was set back by an hour, and its next one has its own half minute", async () => {
		const { from, to, services } = world();
		await env.DIRECTORY.getByName(`directory ${from}`).add([{ id: "a", place: from }]);
		const source = env.ACCOUNT.getByName(from);
		await callsOf(source, "a").admit(admission({ holdMs: 60_000, cost: fixedCost(3) }), []);
		const first = await source.leave("a", to);
		vi.setSystemTime(START - 3_600_000);
		expect(await source.interruptedMove("a")).toBe(to);
		const second = await source.leave("a", to);
		expect(second?.move).toBe((first?.move ?? 0) + 1);
		// Its id is an hour ahead.
		expect((await source.interruptedMove("a")) ?? undefined).toBeUndefined();
		expect((await source.leave("a", to)) ?? undefined).toBeUndefined();
		vi.setSystemTime(START - 3_570_000);
		expect(await source.interruptedMove("a")).toBe(to);
		expect(await moveAccount("a", to, services)).toBe(true);
		expect((await callsOf(env.ACCOUNT.getByName(to), "a").requests({})).requests).toHaveLength(1);
	});
});

it("gives each account the same shard each time, and spreads them", () => {
	const accounts = Array.from({ length: 1_000 }, (_, i) => `account-${i}`);
	const counts = Map.groupBy(accounts, (account) => newPlace(account, 4));
	expect([...counts.keys()].sort()).toEqual(["shard/0", "shard/1", "shard/2", "shard/3"]);
	for (const { length } of counts.values()) expect(length).toBeGreaterThan(180);
	expect(newPlace("team-a", 0)).toBe("team-a");
	expect(newPlace("team-a", 4)).toBe(newPlace("team-a", 4));
});
