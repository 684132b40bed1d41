import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { FleetView } from "../../src/fleet/fleet.ts";
import { ReplicaTable } from "../../src/fleet/replica-table.ts";

it("combines the reports of isolates in one object", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	const circuit = { openedAt: 10, cooldownUntil: 20, workedAt: 0 };
	await fleet.exchange([{ key: "a", failures: 5, failedAt: 10, circuit }]);
	expect(await fleet.exchange([])).toEqual({ circuits: { a: circuit }, replicas: [] });
}, 30_000);

it("stores changes of replicas, which every isolate receives", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	const change = { backend: "a", url: "http://1", state: "draining", added: false } as const;
	await fleet.changeReplica(change);
	await fleet.changeReplica({ ...change, state: "removed" });
	const added = {
		...change,
		url: "http://2",
		state: "active",
		added: true,
		role: "prefill",
		bootstrapPort: 9_000,
	} as const;
	expect(await fleet.changeReplica(added)).toEqual([{ ...change, state: "removed" }, added]);
	await evictDurableObject(fleet);
	expect(await fleet.exchange([])).toEqual({
		circuits: {},
		replicas: [{ ...change, state: "removed" }, added],
	});
	expect(await fleet.resetReplica(change)).toEqual([added]);
	expect((await fleet.exchange([])).replicas).toEqual([added]);
}, 30_000);

it("stores at most 2,000 changes, each of which can be changed again", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	await runInDurableObject(fleet, (_, { storage }) => {
		new ReplicaTable(storage.sql);
		storage.sql.exec(
			`INSERT INTO replica_changes (backend, url, state, added)
			WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1999)
			SELECT 'a', 'http://' || i, 'draining', 0 FROM r`,
		);
		const table = new ReplicaTable(storage.sql);
		const change = { backend: "b", url: "http://1", state: "draining", added: true } as const;
		expect(table.put(change)).toHaveLength(2_000);
		expect(table.put({ ...change, url: "http://2" })).toBeUndefined();
		expect(table.put({ ...change, state: "removed" })?.at(-1)).toEqual({ ...change, state: "removed" });
		expect(table.delete(change)).toHaveLength(1_999);
		expect(table.put({ ...change, url: "http://2" })).toHaveLength(2_000);
	});
}, 30_000);

describe("FleetView", () => {
	const NEVER = { openedAt: 0, cooldownUntil: 0, workedAt: 0 };
	const report = (key: string, fields: object = {}) => ({
		key,
		failures: 0,
		failedAt: 0,
		circuit: NEVER,
		...fields,
	});

	it("counts failures since the last success of all isolates", () => {
		const view = new FleetView();
		expect(view.exchange([report("a", { failures: 4, failedAt: 10 })], 10)).toEqual({ a: NEVER });
		const opened = { openedAt: 11, cooldownUntil: 5_011, workedAt: 0 };
		expect(view.exchange([report("a", { failures: 1, failedAt: 11 })], 11)).toEqual({ a: opened });
		const worked = { ...NEVER, workedAt: 11 };
		expect(view.exchange([report("a", { circuit: worked })], 12)).toEqual({ a: opened });
		expect(view.exchange([report("a", { circuit: { ...NEVER, workedAt: 12 } })], 12)).toEqual({
			a: { ...opened, workedAt: 12 },
		});
	});

	it("counts no failures before the success that the same report has", () => {
		const view = new FleetView();
		const circuit = { ...NEVER, workedAt: 10 };
		const failures = { failures: 9, circuit };
		expect(view.exchange([report("a", { ...failures, failedAt: 10 })], 10)).toEqual({ a: circuit });
		expect(view.exchange([report("a", { ...failures, failedAt: 11 })], 11)).toMatchObject({
			a: { openedAt: 11 },
		});
	});

	it("forgets targets without a report for more than five minutes", () => {
		const view = new FleetView();
		view.exchange([report("a")], 1_000);
		expect(Object.keys(view.exchange([], 301_000))).toEqual(["a"]);
		expect(Object.keys(view.exchange([], 301_001))).toEqual([]);
	});

	it("keeps the 2,000 targets with the latest reports", () => {
		const view = new FleetView();
		const reports = Array.from({ length: 2_001 }, (_, number) => report(`t${number}`));
		const first = Object.keys(view.exchange(reports, 1));
		expect([first.length, first[0], first.at(-1)]).toEqual([2_000, "t0", "t1999"]);
		view.exchange([report("t0")], 2);
		const second = Object.keys(view.exchange([report("new")], 3));
		expect(second).toHaveLength(2_000);
		expect(second).toEqual(expect.arrayContaining(["t0", "new"]));
		expect(second).not.toContain("t1");
	});
});
