import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { DemandTable } from "../../src/fleet/demand-table.ts";
import type { ModelDemand } from "../../src/pools/model-demand.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** 09:30 UTC. */
const NOW = Date.parse("2026-11-21T09:30:00Z");
const demand = (model: string, backend = "vllm"): ModelDemand => ({
	backend,
	model,
	task: "text-generation",
});

it("a model is usual at an hour in which it was used on two of the last seven days", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	await runInDurableObject(fleet, (_, { storage }) => {
		const table = new DemandTable(storage.sql);
		const usual = (now: number) => table.usualAt(Math.floor(now / HOUR)).map(({ model }) => model);
		for (const days of [7, 3, 3, 1]) table.add(demand("daily"), NOW - days * DAY);
		for (const days of [2, 1]) table.add(demand("late"), NOW - days * DAY + HOUR);
		for (const days of [8, 1]) table.add(demand("old"), NOW - days * DAY);
		// Two requests in one hour are one day; and this hour has not passed.
		for (const minutes of [0, 10]) table.add(demand("once"), NOW - DAY + minutes * 60_000);
		for (const days of [1, 0]) table.add(demand("new"), NOW - days * DAY);
		for (const backend of ["a", "b"]) table.add(demand("spread", backend), NOW - DAY);
		expect(table.usualAt(Math.floor(NOW / HOUR))).toEqual([demand("daily")]);
		expect(usual(NOW + HOUR)).toEqual(["late"]);
		expect(usual(NOW + DAY)).toEqual(["daily", "new"]);
		expect(table.deleteOld(NOW)).toBe(true);
		const left = storage.sql.exec("SELECT COUNT(*) AS hours FROM model_hours WHERE model = 'old'").one();
		expect(left).toEqual({ hours: 1 });
		expect(table.deleteOld(NOW + 8 * DAY)).toBe(false);
	});
}, 30_000);

it("an hour has at most 1,000 models", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	await runInDurableObject(fleet, (_, { storage }) => {
		const table = new DemandTable(storage.sql);
		const models = () => storage.sql.exec<{ n: number }>("SELECT COUNT(*) AS n FROM model_hours").one().n;
		storage.sql.exec(
			`INSERT INTO model_hours WITH RECURSIVE m(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM m WHERE i < 999)
			SELECT ?, 'vllm', 'm' || i, 'text-generation' FROM m`,
			Math.floor(NOW / HOUR),
		);
		table.add(demand("last"), NOW);
		table.add(demand("one too many"), NOW);
		expect(models()).toBe(1_000);
		table.add(demand("of the next hour"), NOW + HOUR);
		expect(models()).toBe(1_001);
	});
}, 30_000);

it("the object has an alarm before the next hour while it has hours of models", async () => {
	const fleet = env.FLEET.getByName(`test ${crypto.randomUUID()}`);
	const alarm = () => runInDurableObject(fleet, (_, { storage }) => storage.getAlarm());
	expect(await alarm()).toBeNull();
	await fleet.addDemand(demand("m"));
	const next = (await alarm()) ?? 0;
	expect(next % HOUR).toBe(HOUR - 5 * 60_000);
	expect(Math.abs(next - Date.now())).toBeLessThanOrEqual(HOUR);
	expect(await runDurableObjectAlarm(fleet)).toBe(true);
	expect(await alarm()).toBe(next);
	await runInDurableObject(fleet, (_, { storage }) => storage.sql.exec("UPDATE model_hours SET hour = 0"));
	expect(await runDurableObjectAlarm(fleet)).toBe(true);
	expect(await alarm()).toBeNull();
}, 30_000);
