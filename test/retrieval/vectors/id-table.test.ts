/** Lists of ids: they write nothing, so they work on a full disk, and show a snapshot for an hour. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { IdTable } from "../../../src/retrieval/vectors/durable/id-table.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const object = "local/1";

interface World {
	queries: string[];
	/** Of the same statements. */
	cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[];
	sql: SqlStorage;
}

/** A table in an empty object, and the statements that it runs. */
const inTable = (use: (table: IdTable, world: World) => void): Promise<void> =>
	runInDurableObject(env.VECTOR_INDEX.getByName(crypto.randomUUID()), (_, { storage }) => {
		const { sql } = storage;
		const queries: string[] = [];
		const cursors: World["cursors"] = [];
		const exec = (query: string, ...bindings: unknown[]) => {
			queries.push(query);
			const cursor = sql.exec(query, ...bindings);
			cursors.push(cursor);
			return cursor;
		};
		const table = new IdTable(Object.assign(Object.create(null), { exec }));
		queries.length = 0;
		use(table, { queries, cursors, sql });
	});

const rowsIn = (sql: SqlStorage): string[] =>
	sql
		.exec<{ id: string }>("SELECT id FROM ids ORDER BY id")
		.toArray()
		.map(({ id }) => id);

it("a list of several pages only reads", () =>
	inTable((table, { queries }) => {
		for (const id of ["a", "b", "c"]) table.insert(id, 0, 1);
		queries.length = 0;
		const { next } = table.list({ count: 1 }, { mutation: 1, now: 0, object });
		table.list({ count: 1, cursor: next?.cursor ?? "" }, { mutation: 1, now: 1, object });
		expect(queries).not.toEqual([]);
		for (const query of queries) expect(query).toMatch(/^SELECT /);
	}));

it("a list has what was deleted since its first page, for an hour, and the rows die after it", () =>
	inTable((table, { sql }) => {
		for (const id of ["a", "b", "c"]) table.insert(id, 0, 1);
		const { next } = table.list({ count: 1 }, { mutation: 1, now: 0, object });
		const cursor = next?.cursor ?? "";
		expect(next?.expiresAt).toBe(HOUR);
		table.delete(new Map([["b", 0]]), { mutation: 2, now: HOUR - 2 });
		const expected = { ids: ["b", "c"], totalCount: 3 };
		expect(table.list({ count: 5, cursor }, { mutation: 2, now: HOUR - 1, object })).toEqual(expected);
		table.deleteExpired(HOUR - 1);
		expect(table.list({ count: 5, cursor }, { mutation: 2, now: HOUR - 1, object })).toEqual(expected);
		expect(table.list({ count: 5 }, { mutation: 2, now: HOUR - 1, object }).ids).toEqual(["a", "c"]);
		expect(() => table.list({ count: 5, cursor }, { mutation: 2, now: HOUR, object })).toThrow("40027");
		expect(table.nextExpiry()).toBe(2 * HOUR);
		table.deleteExpired(2 * HOUR);
		expect(rowsIn(sql)).toEqual(["a", "c"]);
		expect(table.nextExpiry()).toBeUndefined();
	}));

it("rows die an hour after their own deletion, also if the clock was set back between two deletions", () =>
	inTable((table, { sql }) => {
		for (const id of ["a", "b", "c"]) table.insert(id, 0, 1);
		table.delete(new Map([["a", 0]]), { mutation: 2, now: HOUR });
		table.delete(new Map([["b", 0]]), { mutation: 3, now: 0 });
		table.deleteExpired(HOUR);
		expect(rowsIn(sql)).toEqual(["a", "c"]);
		table.deleteExpired(2 * HOUR);
		expect(rowsIn(sql)).toEqual(["c"]);
	}));

it("many deletions share one alarm, which never comes before the end of a list", () =>
	inTable((table, { cursors, sql }) => {
		const deletions = 200;
		for (let at = 0; at < deletions; at++) table.insert(`v${at}`, 0, 1);
		const expiries = new Set<number | undefined>();
		for (let at = 0; at < deletions; at++) {
			table.delete(new Map([[`v${at}`, 0]]), { mutation: 2 + at, now: 1 + at });
			expiries.add(table.nextExpiry());
		}
		expect([...expiries]).toEqual([HOUR + MINUTE]);
		// A write looks for the next time: it reads no row of the other deletions.
		cursors.length = 0;
		table.nextExpiry();
		expect(cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0)).toBeLessThanOrEqual(2);
		table.deleteExpired(HOUR + MINUTE - 1);
		expect(rowsIn(sql)).toHaveLength(deletions);
		table.deleteExpired(HOUR + MINUTE);
		expect(rowsIn(sql)).toEqual([]);
		expect(table.nextExpiry()).toBeUndefined();
	}));

it("a list refuses the cursor of another index, one that lasts longer than a list, and one that is none", () =>
	inTable((table) => {
		for (const id of ["a", "b"]) table.insert(id, 0, 1);
		const cursor = table.list({ count: 1 }, { mutation: 1, now: 0, object }).next?.cursor ?? "";
		const at = (now: number, of = object, text = cursor) =>
			table.list({ count: 1, cursor: text }, { mutation: 1, now, object: of });
		expect(at(1).ids).toEqual(["b"]);
		expect(() => at(1, "local/2")).toThrow("40027");
		const [, ...fields] = atob(cursor).split("/");
		for (const time of [String(2 * HOUR + 1), "9999999999999999"])
			expect(() => at(0, object, btoa(["1", time, ...fields.slice(1)].join("/")))).toThrow("40027");
		expect(() => at(1, object, btoa("5.9999999999999999."))).toThrow("40027");
	}));

it("an id that is deleted and added again is listed once by each list", () =>
	inTable((table) => {
		for (const id of ["a", "b"]) table.insert(id, 0, 1);
		const { next } = table.list({ count: 1 }, { mutation: 1, now: 0, object });
		table.delete(new Map([["b", 0]]), { mutation: 2, now: 1 });
		table.insert("b", 0, 3);
		expect(table.list({ count: 5, cursor: next?.cursor ?? "" }, { mutation: 3, now: 2, object }).ids).toEqual(
			["b"],
		);
		expect(table.list({ count: 5 }, { mutation: 3, now: 2, object })).toEqual({
			ids: ["a", "b"],
			totalCount: 2,
		});
		table.deleteExpired(2 * HOUR);
		expect(table.list({ count: 5 }, { mutation: 3, now: 2 * HOUR, object }).ids).toEqual(["a", "b"]);
	}));

it("a deletion of ids that the index does not have keeps nothing", () =>
	inTable((table, { queries }) => {
		table.delete(new Map(), { mutation: 1, now: 0 });
		expect(queries).toEqual([]);
		expect(table.nextExpiry()).toBeUndefined();
	}));
