import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { DeletedPositions } from "../../src/core/deleted-positions.ts";

const HOUR = 3_600_000;

const withSql = (run: (sql: SqlStorage) => void): Promise<void> =>
	runInDurableObject(env.RESPONSE_STORE.getByName(crypto.randomUUID()), (_, { storage }) => run(storage.sql));

it("has the latest position of each deleted row, in its own list", () =>
	withSql((sql) => {
		const things = new DeletedPositions(sql, "things");
		const others = new DeletedPositions(sql, "others");
		expect(things.last()).toBe(0);
		things.add("a", 9, 0);
		things.add("b", 4, 0);
		things.add("b", 5, 1);
		expect(["a", "b", "c"].map((id) => things.get(id))).toEqual([9, 5, undefined]);
		expect([things.last(), others.last(), others.get("a")]).toEqual([9, 0, undefined]);
		expect(new DeletedPositions(sql, "things").get("a")).toBe(9);
	}));

it("keeps a position for an hour, until the next deletion", () =>
	withSql((sql) => {
		const things = new DeletedPositions(sql, "things");
		things.add("a", 1, 0);
		things.add("b", 2, HOUR - 1);
		expect(things.get("a")).toBe(1);
		things.add("c", 3, HOUR);
		expect(["a", "b", "c"].map((id) => things.get(id))).toEqual([undefined, 2, 3]);
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
		for (let n = 0; n < 500; n++) things.add(`${n}`, n, 0);
		read = 0;
		things.add("last", 500, 0);
		expect(read).toBeLessThan(10);
	}));
