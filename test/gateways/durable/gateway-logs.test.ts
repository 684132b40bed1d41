import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { Bindings } from "../../../src/config/bindings.ts";
import { Gateway } from "../../../src/gateways/durable/gateway.ts";
import { type LogPageQuery, LogTable } from "../../../src/gateways/durable/log-table.ts";
import type { PayloadBucket } from "../../../src/gateways/durable/payload-objects.ts";
import { batchOf } from "../../../src/gateways/logs/log-batch.ts";
import { newGateway, newLog, withTable } from "../logs/rows.ts";

const KEEP = { max: 100, strategy: "DELETE_OLDEST" } as const;
const ALL: LogPageQuery = { filters: [], orderBy: "created_at", direction: "asc", offset: 0, limit: 1_000 };
const T0 = Date.now() - 60_000;
const DAY_MS = 24 * 3_600_000;

type Stub = ReturnType<typeof newGateway>;
const idsIn = async (gateway: Stub): Promise<string[]> => (await gateway.logs(ALL)).rows.map(({ id }) => id);

describe("the logs of a Gateway object", () => {
	it("are stored once, with their contents, also after a restart of the object", async () => {
		const name = `account/${crypto.randomUUID()}`;
		const gateway = env.GATEWAY.getByName(name);
		const request = { text: '{"prompt":"hi"}', complete: true };
		const log = { ...newLog({ metadata: '{"user":"u1"}' }), request };
		await gateway.append(batchOf([log]), KEEP);
		await gateway.append(batchOf([{ ...log, row: { ...log.row, provider: "other" } }]), KEEP);
		const expected = { row: log.row, request };
		expect(await gateway.log(log.row.id)).toEqual(expected);
		expect(await gateway.logs(ALL)).toEqual({ rows: [log.row], total: 1 });
		await runInDurableObject(gateway, (_, { abort }) => abort("restart")).catch(() => {});
		expect(await env.GATEWAY.getByName(name).log(log.row.id)).toEqual(expected);
	});

	it("have the fields of their metadata for filters, also those whose names need escapes", async () => {
		await withTable((table, sql) => {
			const metadata = '{"a\\"b\\n\\u0001é":true,"__proto__":"x\\"","":1.5}';
			const logs = [
				newLog({ metadata }),
				newLog({ metadata: '{"team":"a"}' }),
				newLog({ metadata }),
				newLog(),
			];
			const [first, other, second] = logs.map(({ row }) => row.id);
			const fields = () => [...sql.exec("SELECT log, key, value FROM log_metadata ORDER BY log, key").raw()];
			const fieldsOf = (id = "") => [
				[id, "", "1.5"],
				[id, "__proto__", 'x"'],
				[id, 'a"b\n\u0001é', "true"],
			];
			const sorted = (rows: string[][]) => rows.sort(([a = ""], [b = ""]) => (a < b ? -1 : Number(a > b)));
			table.insert(batchOf(logs.slice(0, 2)));
			expect(fields()).toEqual(sorted([...fieldsOf(first), [other ?? "", "team", "a"]]));
			// Only the new logs of a batch are added.
			sql.exec("DELETE FROM log_metadata");
			table.insert(batchOf(logs));
			expect(fields()).toEqual(fieldsOf(second));
		});
	});

	it("get the columns that an earlier version of the table lacks", async () => {
		await withTable((_, sql) => {
			sql.exec("ALTER TABLE logs DROP COLUMN byok");
			const log = newLog({ byok: 1 });
			const table = new LogTable(sql);
			table.insert(batchOf([log]));
			expect(table.get(log.row.id)).toEqual(log.row);
		});
	});

	it("are stored together or not at all", async () => {
		const gateway = newGateway();
		const request = { text: "{}", complete: true };
		const log = { ...newLog({ metadata: '{"user":"u1"}' }), request };
		const failing = batchOf([log]);
		await runInDurableObject(gateway, async (object, { storage: { sql } }) => {
			sql.exec("CREATE TRIGGER broken BEFORE INSERT ON payloads BEGIN SELECT RAISE(ABORT, 'broken'); END");
			await expect(object.append(failing, KEEP)).rejects.toThrow("broken");
			sql.exec("DROP TRIGGER broken");
		});
		expect(await gateway.logs(ALL)).toEqual({ rows: [], total: 0 });
		await gateway.append(failing, KEEP);
		expect(await gateway.log(log.row.id)).toEqual({ row: log.row, request });
		const filters = [{ key: "metadata.key" as const, operator: "eq" as const, value: ["user"] }];
		expect((await gateway.logs({ ...ALL, filters })).rows).toEqual([log.row]);
	});

	it("keep the newest, or the first, up to the limit", async () => {
		const logs = Array.from({ length: 6 }, (_, n) => newLog({}, T0 + n));
		const ids = logs.map(({ row }) => row.id);
		const [newest, first] = [newGateway(), newGateway()];
		for (const log of logs) {
			await newest.append(batchOf([log]), { max: 4, strategy: "DELETE_OLDEST" });
			await first.append(batchOf([log]), { max: 4, strategy: "STOP_INSERTING" });
		}
		expect(await idsIn(newest)).toEqual(ids.slice(2));
		expect(await idsIn(first)).toEqual(ids.slice(0, 4));
		const batch = newGateway();
		await batch.append(batchOf(logs), { max: 4, strategy: "STOP_INSERTING" });
		expect(await idsIn(batch)).toEqual(ids.slice(0, 4));
	});

	it("are deleted after 30 days by the alarm, with their contents", async () => {
		const gateway = newGateway();
		const response = { text: "old", complete: true };
		const old = { ...newLog({ metadata: '{"a":1}' }, Date.now() - 31 * DAY_MS), response };
		const recent = newLog({}, Date.now() - 29 * DAY_MS);
		await gateway.append(batchOf([old, recent]), KEEP);
		expect(await runDurableObjectAlarm(gateway)).toBe(true);
		expect(await idsIn(gateway)).toEqual([recent.row.id]);
		const remaining = await runInDurableObject(gateway, (_, { storage: { sql } }) =>
			["log_metadata", "payloads"].map((table) => sql.exec(`SELECT * FROM ${table}`).toArray().length),
		);
		expect(remaining).toEqual([0, 0]);
		const alarm = await runInDurableObject(gateway, (_, { storage }) => storage.getAlarm());
		expect(Math.abs((alarm ?? 0) - (Date.now() + DAY_MS))).toBeLessThan(60_000);
	});

	it("are read as soon as they arrive, if they are recent", async () => {
		const gateway = newGateway();
		const log = newLog();
		const [read] = await Promise.all([gateway.log(log.row.id), gateway.append(batchOf([log]), KEEP)]);
		expect(read?.row).toEqual(log.row);
		const other = newLog();
		const patched = gateway.patchLog(other.row.id, { feedback: 1 });
		await gateway.append(batchOf([other]), KEEP);
		expect(await patched).toBe(true);
		expect((await gateway.log(other.row.id))?.row.feedback).toBe(1);
	});

	it("are deleted with their gateway, and so are its limits", async () => {
		const gateway = newGateway();
		await gateway.append(batchOf([newLog()]), KEEP);
		const window = { key: "r", windowMs: 1_000, technique: "fixed", limit: 1, unit: "count" } as const;
		expect([await gateway.take([window], T0), await gateway.take([window], T0)]).toEqual([undefined, 0]);
		await gateway.clear();
		expect(await idsIn(gateway)).toEqual([]);
		expect(await gateway.take([window], T0)).toBeUndefined();
	});

	it("of a deleted gateway are not stored, those of the next one with its name are, also after a restart of the object", async () => {
		const name = `account/${crypto.randomUUID()}`;
		const [created, again] = [T0, T0 + 1_000];
		const append = async (createdAt?: number) => {
			const log = newLog();
			await env.GATEWAY.getByName(name).append(batchOf([log]), {
				...KEEP,
				...(createdAt !== undefined && { createdAt }),
			});
			return log.row.id;
		};
		await append(created);
		await env.GATEWAY.getByName(name).clear(created);
		await runInDurableObject(env.GATEWAY.getByName(name), (_, { abort }) => abort("restart")).catch(() => {});
		await append(created);
		// A gateway that exists without being created has no time.
		const kept = [await append(again), await append()];
		expect((await idsIn(env.GATEWAY.getByName(name))).sort()).toEqual(kept.sort());
	});

	it("that never existed are not found", async () => {
		const gateway = newGateway();
		expect(await gateway.log(newLog().row.id)).toBeUndefined();
		expect(await gateway.log(newLog({}, T0 - DAY_MS).row.id)).toBeUndefined();
		expect(await gateway.patchLog(newLog({}, T0 - DAY_MS).row.id, { feedback: 1 })).toBe(false);
	});

	it("change their feedback, score and metadata only as the patch names them", async () => {
		const gateway = newGateway();
		const { row } = newLog({ metadata: '{"old":"x"}' });
		await gateway.append(batchOf([{ row }]), KEEP);
		await gateway.patchLog(row.id, { feedback: -1, score: 70.5 });
		await gateway.patchLog(row.id, { metadata: '{"new":"y"}' });
		expect((await gateway.log(row.id))?.row).toEqual({
			...row,
			feedback: -1,
			score: 70.5,
			metadata: '{"new":"y"}',
		});
		const byKey = (key: string) =>
			gateway.logs({ ...ALL, filters: [{ key: "metadata.key", operator: "eq", value: [key] }] });
		expect((await byKey("old")).rows).toHaveLength(0);
		expect((await byKey("new")).rows).toHaveLength(1);
		await gateway.patchLog(row.id, { feedback: null, metadata: null });
		expect((await gateway.log(row.id))?.row).toEqual({ ...row, score: 70.5, metadata: null });
	});

	it("are deleted by a query, in its order and up to its limit", async () => {
		const gateway = newGateway();
		const logs = [5, 1, 4, 2, 3].map((duration, n) => newLog({ duration, success: n % 2 ? 0 : 1 }, T0 + n));
		await gateway.append(batchOf(logs), KEEP);
		const filters = [{ key: "success" as const, operator: "eq" as const, value: [true] }];
		const deleted = await gateway.deleteLogs({ filters, orderBy: "duration", direction: "desc", limit: 2 });
		expect(deleted).toBe(2);
		const remaining = await gateway.logs(ALL);
		expect(remaining.rows.map(({ duration }) => duration)).toEqual([1, 2, 3]);
		expect(remaining.total).toBe(3);
		expect(await gateway.deleteLogs({ filters: [], orderBy: "created_at", direction: "asc" })).toBe(3);
		expect(await gateway.logs(ALL)).toEqual({ rows: [], total: 0 });
	});
});

describe("large payloads of logs", () => {
	const { LOGS_BUCKET: bucket }: Bindings = env;
	if (!bucket) throw new Error("The tests need a bucket");
	// 64 Ki characters, and one more.
	const large = { text: "é".repeat(64 * 1024 + 1), complete: true };
	const head = { text: large.text.slice(0, 4_096), complete: false };
	const newLarge = (time?: number) => ({ ...newLog({}, time), request: large, response: large });
	const unreachable = async (): Promise<never> => {
		throw new Error("unreachable");
	};
	const BROKEN: PayloadBucket = { put: unreachable, get: unreachable, delete: unreachable };

	/** Objects of the bucket that belong to a log. */
	const objectsOf = async (id: string) =>
		(await bucket.list({ limit: 1_000 })).objects.map(({ key }) => key).filter((key) => key.includes(id));
	/** Runs with the object of a gateway whose bucket is another one, or none. */
	const withBucket = <T>(
		stub: Stub,
		LOGS_BUCKET: PayloadBucket | undefined,
		run: (gateway: Gateway, ctx: DurableObjectState) => Promise<T>,
	) => runInDurableObject(stub, (_, ctx) => run(new Gateway(ctx, LOGS_BUCKET ? { LOGS_BUCKET } : {}), ctx));

	it("are objects of the bucket, and the log has their first part", async () => {
		const name = `account/${crypto.randomUUID()}`;
		const gateway = env.GATEWAY.getByName(name);
		const log = { ...newLarge(), response: { text: "small", complete: true } };
		const { id } = log.row;
		expect(await gateway.append(batchOf([log]), KEEP)).toBe(0);
		expect(await gateway.append(batchOf([log]), KEEP)).toBe(0);
		expect(await objectsOf(id)).toEqual([`logs/${name}/${id}/request`]);
		expect(await gateway.log(id)).toEqual({ row: log.row, request: head, response: log.response });
		expect(await gateway.payload(id, "request")).toEqual(large);
		expect(await gateway.payload(id, "response")).toEqual(log.response);
		expect(await gateway.payload(newLog().row.id, "request")).toBeUndefined();
	});

	it.each<[string, (gateway: Stub) => Promise<unknown>]>([
		["a deletion", (gateway) => gateway.deleteLogs(ALL)],
		["the deletion of the gateway", (gateway) => gateway.clear()],
		["the limit", (gateway) => gateway.append(batchOf([newLog()]), { max: 1, strategy: "DELETE_OLDEST" })],
		["the retention", (gateway) => runDurableObjectAlarm(gateway)],
	])("are deleted by %s", async (_, remove) => {
		const gateway = newGateway();
		const log = newLarge(Date.now() - 31 * DAY_MS);
		await gateway.append(batchOf([log]), KEEP);
		expect(await objectsOf(log.row.id)).toHaveLength(2);
		await remove(gateway);
		expect(await objectsOf(log.row.id)).toEqual([]);
	});

	it("of a log that is not kept are not stored", async () => {
		const gateway = newGateway();
		const log = newLarge();
		expect(await gateway.append(batchOf([newLog(), log]), { max: 1, strategy: "STOP_INSERTING" })).toBe(0);
		expect(await objectsOf(log.row.id)).toEqual([]);
	});

	it("of a log that is deleted meanwhile are deleted", async () => {
		const log = newLarge();
		await withBucket(newGateway(), bucket, async (gateway) => {
			const appended = gateway.append(batchOf([log]), KEEP);
			await gateway.deleteLogs(ALL);
			await appended;
		});
		expect(await objectsOf(log.row.id)).toEqual([]);
	});

	it("are absent and counted if the bucket fails, and the log is complete otherwise", async () => {
		const gateway = newGateway();
		const log = newLarge();
		const { id } = log.row;
		expect(await withBucket(gateway, BROKEN, (broken) => broken.append(batchOf([log]), KEEP))).toBe(2);
		expect(await gateway.log(id)).toEqual({ row: log.row, request: head, response: head });
		expect(await gateway.payload(id, "request")).toEqual(head);
	});

	it("are absent if the bucket is removed or fails later", async () => {
		const gateway = newGateway();
		const { row } = newLarge();
		await gateway.append(batchOf([{ row, request: large }]), KEEP);
		for (const other of [BROKEN, undefined])
			expect(
				await withBucket(gateway, other, (changed) => changed.payload(row.id, "request")),
			).toBeUndefined();
	});

	it("are deleted later if the bucket fails", async () => {
		const gateway = newGateway();
		const log = newLarge();
		await gateway.append(batchOf([log]), KEEP);
		await withBucket(gateway, BROKEN, (broken) => broken.deleteLogs(ALL));
		expect(await objectsOf(log.row.id)).toHaveLength(2);
		const alarm = await runInDurableObject(gateway, (_, { storage }) => storage.getAlarm());
		expect(Math.abs((alarm ?? 0) - (Date.now() + 60_000))).toBeLessThan(10_000);
		expect(await runDurableObjectAlarm(gateway)).toBe(true);
		expect(await objectsOf(log.row.id)).toEqual([]);
	});

	it("are in the row without a bucket", async () => {
		const log = newLarge();
		const { id } = log.row;
		await withBucket(newGateway(), undefined, async (gateway) => {
			expect(await gateway.append(batchOf([log]), KEEP)).toBe(0);
			expect(await gateway.payload(id, "response")).toEqual(large);
			expect(await gateway.log(id)).toEqual(log);
		});
		expect(await objectsOf(id)).toEqual([]);
	});
});
