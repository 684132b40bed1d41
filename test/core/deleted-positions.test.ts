import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { DeletedPositions } from "../../src/core/deleted-positions.ts";

const HOUR = 3_600_000;
const ALL = { all: true, owner: "" };

const withSql = (run: (sql: SqlStorage) => void): Promise<void> =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => run(storage.sql));

it("has the latest position of each deleted row, in its own list", () =>
	withSql((sql) => {
		const things = new DeletedPositions(sql, "things");
		const others = new DeletedPositions(sql, "others");
		expect(things.last()).toBe(0);
		things.add({ id: "a", seq: 9 }, 0);
		things.add({ id: "b", seq: 4 }, 0);
		things.add({ id: "b", seq: 5 }, 1);
		expect(["a", "b", "c"].map((id) => things.get(id, ALL))).toEqual([9, 5, undefined]);
		expect([things.last(), others.last(), others.get("a", ALL)]).toEqual([9, 0, undefined]);
		expect(new DeletedPositions(sql, "things").get("a", ALL)).toBe(9);
	}));

it("has the row of another owner only for those who see all", () =>
	withSql((sql) => {
		const things = new DeletedPositions(sql, "things");
		things.add({ id: "a", seq: 9, owner: "mine" }, 0);
		expect(things.get("a", { all: false, owner: "mine" })).toBe(9);
		expect(things.get("a", { all: false, owner: "yours" })).toBeUndefined();
		expect(things.get("a", { all: true, owner: "yours" })).toBe(9);
	}));

it("has the rows of an earlier version, whose owner is not known, only for those who see all", () =>
	withSql((sql) => {
		sql.exec(
			"CREATE TABLE deleted_things (id TEXT PRIMARY KEY, seq INTEGER NOT NULL, deleted_at INTEGER NOT NULL)",
		);
		sql.exec("INSERT INTO deleted_things VALUES ('a', 9, 0)");
		const things = new DeletedPositions(sql, "things");
		things.add({ id: "b", seq: 4, owner: "mine" }, 0);
		expect(["a", "b"].map((id) => things.get(id, { all: false, owner: "mine" }))).toEqual([undefined, 4]);
		expect(things.get("a", ALL)).toBe(9);
	}));

it("keeps a position for an hour, until the next deletion", () =>
	withSql((sql) => {
		const things = new DeletedPositions(sql, "things");
		things.add({ id: "a", seq: 1 }, 0);
		things.add({ id: "b", seq: 2 }, HOUR - 1);
		expect(things.get("a", ALL)).toBe(1);
		things.add({ id: "c", seq: 3 }, HOUR);
		expect(["a", "b", "c"].map((id) => things.get(id, ALL))).toEqual([undefined, 2, 3]);
	}));

it("reads few rows for each of many deletions", () =>
	withSql((sql) => {
		let read = 0;
		const counted = new Proxy(sql, {
			get: (_, name) =>
				name === "exec"
					? (query: string, ...values: SqlStorageValue[]) => {
							const cursor = sql.exec(query, ...values);
							read += cursor.rowsRead;
							return cursor;
						}
					: Reflect.get(sql, name, sql),
		});
		const things = new DeletedPositions(counted, "things");
		for (let n = 0; n < 500; n++) things.add({ id: `${n}`, seq: n }, 0);
		read = 0;
		things.add({ id: "last", seq: 500 }, 0);
		expect(read).toBeLessThan(10);
	}));
