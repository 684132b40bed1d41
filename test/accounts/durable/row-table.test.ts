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
		const table = new RowTable<Row>({ sql, ...layout });
		table.write({ id: "a", writtenAt: 1, chargeId: 7 });
		table.write({ id: "b", writtenAt: 2 });
		table.write({ id: "a", writtenAt: 3 });
		expect(sql.exec("SELECT * FROM written ORDER BY id").toArray()).toEqual([
			{ id: "a", written_at: 3, charge_id: null },
			{ id: "b", written_at: 2, charge_id: null },
		]);
		table.write({ id: "b", writtenAt: 2, chargeId: 9 });
		expect(table.select("WHERE written_at < ? ORDER BY id", 3)).toEqual([
			{ id: "b", writtenAt: 2, chargeId: 9 },
		]);
		expect(table.select()).toHaveLength(2);
	}));

it("adds to the summed fields of an existing row", () =>
	withSql((sql) => {
		const table = new RowTable<Row>({ sql, ...layout, summed: ["chargeId"] });
		table.write({ id: "a", writtenAt: 1, chargeId: 7 });
		table.write({ id: "a", writtenAt: 2, chargeId: 5 });
		expect(table.select()).toEqual([{ id: "a", writtenAt: 2, chargeId: 12 }]);
	}));

it("opens a table of an earlier version, whose columns may have another order", () =>
	withSql((sql) => {
		sql.exec("CREATE TABLE written (charge_id INTEGER, written_at INTEGER NOT NULL, id TEXT PRIMARY KEY)");
		sql.exec("INSERT INTO written VALUES (7, 1, 'a')");
		const table = new RowTable<Row>({ sql, ...layout });
		table.write({ id: "b", writtenAt: 2, chargeId: 8 });
		expect(table.select("ORDER BY id")).toEqual([
			{ id: "a", writtenAt: 1, chargeId: 7 },
			{ id: "b", writtenAt: 2, chargeId: 8 },
		]);
	}));

it("numbers its rows only on request", () =>
	withSql((sql) => {
		new RowTable<Row>({ sql, ...layout });
		new RowTable<Row>({ sql, ...layout, name: "numbered", rowIds: true });
		expect(() => sql.exec("SELECT rowid FROM written")).toThrow("rowid");
		expect(sql.exec("SELECT rowid FROM numbered").toArray()).toEqual([]);
	}));
