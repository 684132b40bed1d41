/** The rows of an account's stored responses, and those of an earlier version. */

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import type { ResponseStoreObject } from "../../../src/responses/durable/response-store.ts";
import { StoreTables } from "../../../src/responses/durable/store-tables.ts";
import type { ItemRecord, ResponseRecord } from "../../../src/responses/records.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const BOUNDS = { maxBytes: 1e9, maxResponses: 1e6, retentionMs: 30 * DAY_MS };
const OWNER = { owner: "operator", all: true };

/** The tables of responses and items before a response was one row with its items. */
const EARLIER = `CREATE TABLE responses (
	id TEXT PRIMARY KEY,
	owner TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	status TEXT NOT NULL,
	previous TEXT,
	conversation TEXT,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	background INTEGER NOT NULL,
	input_from INTEGER NOT NULL,
	input_to INTEGER NOT NULL,
	output_from INTEGER NOT NULL,
	output_to INTEGER NOT NULL,
	json TEXT NOT NULL
);
CREATE INDEX responses_by_expiry ON responses (expires_at);
CREATE TABLE items (
	seq INTEGER PRIMARY KEY,
	bytes INTEGER NOT NULL,
	id TEXT NOT NULL,
	owner TEXT NOT NULL,
	reference INTEGER NOT NULL,
	held INTEGER NOT NULL,
	conversation TEXT,
	json TEXT NOT NULL
);
CREATE INDEX items_by_id ON items (id);
CREATE INDEX items_by_conversation ON items (conversation, seq) WHERE conversation IS NOT NULL;
CREATE TABLE texts (key TEXT NOT NULL, piece INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (key, piece)) WITHOUT ROWID`;
const TABLES = [
	"responses",
	"items",
	"texts",
	"expiries",
	"conversations",
	"runs",
	"unqueued",
	"streams",
	"events",
];

let stores = 0;
/** An object with the rows that `fill` writes before its tables are opened. */
async function opened(fill: (sql: SqlStorage) => void) {
	const stub = (
		env as unknown as { RESPONSE_STORE: DurableObjectNamespace<ResponseStoreObject> }
	).RESPONSE_STORE.getByName(`store-tables-${stores++}`);
	const within = <Result>(run: (tables: StoreTables, sql: SqlStorage) => Result): Promise<Awaited<Result>> =>
		runInDurableObject(stub as never, (_: unknown, { storage }: DurableObjectState) =>
			run(new StoreTables(storage), storage.sql),
		) as Promise<Awaited<Result>>;
	await runInDurableObject(stub as never, (_: unknown, { storage }: DurableObjectState) => {
		for (const table of TABLES) storage.sql.exec(`DROP TABLE IF EXISTS ${table}`);
		fill(storage.sql);
	});
	return { within };
}

const item = (id: string, text: string): ItemRecord => ({ id, json: JSON.stringify({ id, text }) });
const record = (id: string, fields: Partial<ResponseRecord> = {}): ResponseRecord => ({
	...{ id, owner: "operator", status: "completed", createdAt: Date.now(), json: `{"id":"${id}"}` },
	...{ input: [], output: [], ...fields },
});
const texts = (found: { ok: boolean; value?: string[] }): string[] =>
	(found.value ?? []).map((json) => (JSON.parse(json) as { text: string }).text);

describe("a response without a conversation", () => {
	it("is one row with its items, in which they are found, and nothing is left of it after its deletion", async () => {
		const { within } = await opened(() => {});
		await within((tables, sql) => {
			const first = record("resp_0190a", {
				input: [item("msg_0190b", "question"), { ...item("rs_1", "copy"), reference: true }],
				output: [item("msg_1", "answer"), item("msg_1", "the same id")],
			});
			tables.write(first, BOUNDS, { background: 0 });
			tables.write(record("resp_0191a", { output: [item("msg_1", "later")] }), BOUNDS, { background: 0 });
			expect(sql.exec("SELECT count(*) AS rows FROM items").one()).toEqual({ rows: 0 });
			expect(tables.usage).toMatchObject({ responses: 2, items: 5 });
			expect(new StoreTables({ sql } as DurableObjectStorage).usage).toEqual(tables.usage);
			expect(tables.items.find("msg_0190b", OWNER)).toEqual({
				ok: true,
				value: '{"id":"msg_0190b","text":"question"}',
			});
			expect(tables.items.find("msg_1", OWNER)).toMatchObject({ value: '{"id":"msg_1","text":"later"}' });
			expect(tables.items.find("rs_1", OWNER)).toMatchObject({ ok: false });
			expect(tables.items.find("msg_1", { owner: "other", all: false })).toEqual({
				ok: false,
				missing: { kind: "item", id: "msg_1", foreign: true },
			});
			const rowOf = (id: string) => {
				const row = tables.responses.get(id, Date.now());
				if (!row) throw new Error(`${id} is not stored`);
				return row;
			};
			tables.delete(rowOf("resp_0191a"));
			expect(tables.items.find("msg_1", OWNER)).toMatchObject({
				value: '{"id":"msg_1","text":"the same id"}',
			});
			tables.delete(rowOf("resp_0190a"));
			expect(tables.usage).toEqual({ responses: 0, items: 0, conversations: 0, bytes: 0 });
			expect(sql.exec("SELECT key FROM responses").toArray()).toEqual([]);
		});
	});

	it("is deleted in the hour after its time, and a continued one later", async () => {
		const { within } = await opened(() => {});
		const now = Date.now();
		await within((tables) => {
			const ids = ["resp_0190000000a1", "resp_0190000000a2", "resp_0190fffffff1"];
			for (const id of ids) tables.write(record(id), { retentionMs: 1_000 }, { background: 0 });
			const kept = ids.slice(1, 2).flatMap((id) => tables.responses.get(id, now) ?? []);
			tables.responses.keep(kept, now + 30 * DAY_MS);
			expect(tables.responses.get("resp_0190000000a1", now + 1_100)).toBeUndefined();
			expect(tables.responses.expired(now, 10)).toEqual([]);
			tables.deleteExpired(now + 1_000 + HOUR_MS);
			expect(tables.usage.responses).toBe(1);
			tables.deleteExpired(now + 29 * DAY_MS);
			expect(tables.usage.responses).toBe(1);
			expect(tables.responses.nextExpiry()).toBeGreaterThanOrEqual(now + 30 * DAY_MS);
			expect(tables.responses.nextExpiry()).toBeLessThan(now + 30 * DAY_MS + HOUR_MS);
			tables.deleteExpired(now + 30 * DAY_MS + HOUR_MS);
			expect(tables.usage).toMatchObject({ responses: 0, bytes: 0 });
			expect(tables.responses.nextExpiry()).toBeUndefined();
		});
	});

	it("is deleted with many others in several steps", async () => {
		const { within } = await opened(() => {});
		await within((tables) => {
			for (let count = 0; count < 450; count++)
				tables.write(record(`resp_0190abc${1_000 + count}`), { retentionMs: 0 }, { background: 0 });
			const later = Date.now() + HOUR_MS;
			const left = [1, 2, 3].map(() => {
				tables.deleteExpired(later);
				return [tables.usage.responses, tables.responses.nextExpiry() !== undefined];
			});
			expect(left).toEqual([
				[250, true],
				[50, true],
				[0, false],
			]);
		});
	});
});

describe("the state of an earlier version", () => {
	const INSERT = "INSERT INTO responses VALUES (?, 'operator', 300, ?, ?, NULL, 1, ?, ?, ?, ?, ?, ?, ?)";
	const long = `{"id":"resp_c2","instructions":"${"a".repeat(600_000)}"}`;
	const fill = (expiresAt: number) => (sql: SqlStorage) => {
		sql.exec(EARLIER);
		const rows = [
			[1, "msg_a", "question", 1, null],
			[2, "msg_b", "answer", 1, null],
			[3, "msg_c", "second question", 1, null],
			[4, "msg_d", "of a conversation", 0, "conv_1"],
		] as const;
		for (const [seq, id, text, held, conversation] of rows) {
			const { json } = item(id, text);
			sql.exec(
				"INSERT INTO items VALUES (?, 300, ?, 'operator', 0, ?, ?, ?)",
				seq,
				id,
				held,
				conversation,
				json,
			);
		}
		sql.exec(INSERT, "resp_b1", "completed", null, expiresAt, 0, 1, 1, 2, 2, '{"id":"resp_b1"}');
		sql.exec(
			INSERT,
			"resp_a2",
			"queued",
			"resp_b1",
			expiresAt,
			1,
			3,
			3,
			5,
			4,
			'{"id":"resp_a2","status":"queued"}',
		);
		sql.exec(INSERT, "resp_c2", "completed", null, 1, 0, 5, 4, 5, 4, long.slice(0, 500_000));
		sql.exec("INSERT INTO texts VALUES ('responses/resp_c2', 0, ?)", long.slice(500_000));
	};

	it("is brought forward at the first open, and goes on with new responses", async () => {
		const now = Date.now();
		const { within } = await opened(fill(now + DAY_MS));
		await within((tables, sql) => {
			expect(tables.usage).toEqual({ responses: 3, items: 4, conversations: 0, bytes: 7 * 300 });
			expect(sql.exec("SELECT name FROM sqlite_schema WHERE name LIKE '%earlier%'").toArray()).toEqual([]);
			const context = (previous: string) => texts(tables.before({ previous }, OWNER, BOUNDS.retentionMs));
			expect(context("resp_b1")).toEqual(["question", "answer"]);
			const queued = tables.responses.get("resp_a2", now);
			if (!queued) throw new Error("The queued response is lost");
			tables.rewrite(queued, "completed", {
				json: '{"id":"resp_a2"}',
				output: [item("msg_e", "second answer")],
			});
			const next = record("resp_0190a", {
				previous: "resp_a2",
				input: [{ ...item("msg_a", ""), reference: true }],
				output: [item("msg_f", "third answer")],
			});
			tables.write(next, BOUNDS, { background: 0 });
			const all = ["question", "answer", "second question", "second answer", "question", "third answer"];
			expect(context("resp_0190a")).toEqual(all);
			const row = tables.responses.get("resp_0190a", now);
			if (!row) throw new Error("The new response is lost");
			const page = (order: "asc" | "desc", after?: string) =>
				tables.responseItems.inputPage(row, { limit: 2, order, after }, OWNER);
			expect(texts({ ok: true, value: page("desc")?.items ?? [] })).toEqual(["question", "second answer"]);
			expect(texts({ ok: true, value: page("asc", "msg_c")?.items ?? [] })).toEqual([
				"second answer",
				"question",
			]);
			expect(page("asc", "msg_c")?.hasMore).toBe(false);
			expect(page("asc", "msg_f")).toBeUndefined();
		});
	});

	it("expires and is deleted with its items", async () => {
		const now = Date.now();
		const { within } = await opened(fill(now + DAY_MS));
		await within((tables, sql) => {
			expect(tables.responses.after("").map(({ id }) => id)).toEqual(
				["resp_b1", "resp_a2", "resp_c2"].toSorted(),
			);
			const [third] = tables.responses.after("resp_b1");
			if (!third) throw new Error("A response is missing");
			expect(tables.responses.textOf(third).json).toBe(long);
			tables.deleteExpired(now);
			expect(tables.usage).toMatchObject({ responses: 2, items: 4 });
			expect(sql.exec("SELECT count(*) AS pieces FROM texts").one()).toEqual({ pieces: 0 });
			tables.deleteExpired(now + DAY_MS + HOUR_MS);
			expect(tables.usage).toEqual({ responses: 0, items: 1, conversations: 0, bytes: 300 });
			expect(sql.exec("SELECT id FROM items").toArray()).toEqual([{ id: "msg_d" }]);
		});
	});
});
