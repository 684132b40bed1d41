import { expect, it } from "vitest";
import { columnOf, conditionsOf, RowTable } from "../../../src/accounts/durable/row-table.ts";
import { withLedger } from "../fixtures.ts";

interface Row {
	id: string;
	writtenAt: number;
	chargeId?: number;
}
const layout = {
	name: "written",
	columns: { id: "TEXT", writtenAt: "INTEGER NOT NULL", chargeId: "INTEGER" },
	key: ["id"],
} as const;

const withSql = (test: (sql: SqlStorage) => void) => withLedger(({ storage: { sql } }) => test(sql));
interface Options {
	name?: string;
	summed?: readonly (keyof Row)[];
	rowIds?: true;
}

const tableOf = (sql: SqlStorage, options: Options = {}, account = 1) =>
	new RowTable<Row>({ rows: { sql, account, tables: new Map() }, ...layout, ...options });

it("names a column in snake case", () => {
	expect(columnOf("firstTokenMs")).toBe("first_token_ms");
	expect(columnOf("id")).toBe("id");
});

it("joins the conditions that have a value", () => {
	const conditions = [
		["id < ?", 0],
		["model = ?", undefined],
		["token = ?", ""],
	] as const;
	expect(conditionsOf(conditions)).toEqual({ where: "true AND id < ? AND token = ?", values: [0, ""] });
	expect(conditionsOf([["id < ?", undefined]])).toEqual({ where: "true", values: [] });
});

it("writes, replaces and reads rows, with NULL for absent fields", () =>
	withSql((sql) => {
		const table = tableOf(sql);
		table.write({ id: "a", writtenAt: 1, chargeId: 7 });
		table.write({ id: "b", writtenAt: 2 });
		table.write({ id: "a", writtenAt: 3 });
		expect(sql.exec("SELECT * FROM written ORDER BY id").toArray()).toEqual([
			{ account: 1, id: "a", written_at: 3, charge_id: null },
			{ account: 1, id: "b", written_at: 2, charge_id: null },
		]);
		table.write({ id: "b", writtenAt: 2, chargeId: 9 });
		expect(table.select({ where: "written_at < ?", order: "id" }, 3)).toEqual([
			{ id: "b", writtenAt: 2, chargeId: 9 },
		]);
		expect(table.select()).toHaveLength(2);
	}));

it("adds to the summed fields of an existing row", () =>
	withSql((sql) => {
		const table = tableOf(sql, { summed: ["chargeId"] });
		table.write({ id: "a", writtenAt: 1, chargeId: 7 });
		table.write({ id: "a", writtenAt: 2, chargeId: 5 });
		expect(table.select()).toEqual([{ id: "a", writtenAt: 2, chargeId: 12 }]);
	}));

it("opens a table of an earlier version, whose columns may have another order", () =>
	withSql((sql) => {
		sql.exec("CREATE TABLE written (charge_id INTEGER, written_at INTEGER NOT NULL, id TEXT PRIMARY KEY)");
		sql.exec("INSERT INTO written VALUES (7, 1, 'a')");
		const table = tableOf(sql);
		table.write({ id: "b", writtenAt: 2, chargeId: 8 });
		expect(table.select({ order: "id" })).toEqual([
			{ id: "a", writtenAt: 1, chargeId: 7 },
			{ id: "b", writtenAt: 2, chargeId: 8 },
		]);
	}));

it("numbers its rows only on request", () =>
	withSql((sql) => {
		tableOf(sql);
		tableOf(sql, { name: "numbered", rowIds: true });
		expect(() => sql.exec("SELECT rowid FROM written")).toThrow("rowid");
		expect(sql.exec("SELECT rowid FROM numbered").toArray()).toEqual([]);
	}));

it("reads, changes and deletes the rows of its account only", () =>
	withSql((sql) => {
		const [one, other] = [tableOf(sql), tableOf(sql, {}, 2)];
		for (const table of [one, other]) {
			table.write({ id: "a", writtenAt: 1, chargeId: 7 });
			table.write({ id: "b", writtenAt: 2, chargeId: 8 });
		}
		one.set("writtenAt", 5, "true OR true");
		one.subtract("chargeId", 1, "true OR true");
		one.delete("id = 'a' OR true");
		one.insertAll(JSON.stringify([["c", 9, null]]));
		expect(other.select({ where: "true OR true", order: "id" })).toEqual([
			{ id: "a", writtenAt: 1, chargeId: 7 },
			{ id: "b", writtenAt: 2, chargeId: 8 },
		]);
		expect(one.select()).toEqual([{ id: "c", writtenAt: 9 }]);
		expect(one.readOne("max(written_at) AS last", { where: "true OR true" })).toEqual({ last: 9 });
	}));
