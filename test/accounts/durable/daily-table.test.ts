import { expect, it } from "vitest";
import { DailyTable, dailyLayout } from "../../../src/accounts/durable/daily-table.ts";
import { NOON, withLedger } from "../fixtures.ts";

const dimensions = { day: "TEXT NOT NULL", model: "TEXT NOT NULL" };
const rowsOf = (sql: SqlStorage) => ({ sql, account: 1, tables: new Map() });
const open = (sql: SqlStorage) =>
	new DailyTable<"day" | "model", "n">(rowsOf(sql), dailyLayout("by_day", dimensions, ["n"]));

/** An account's object with an additional table of counts by day and model. */
const withRows = <T>(
	rows: readonly [string, string, number][],
	test: (table: ReturnType<typeof open>, sql: SqlStorage) => T,
): Promise<T> =>
	withLedger(({ storage: { sql } }) => {
		const table = open(sql);
		for (const row of rows) sql.exec("INSERT INTO by_day VALUES (1, ?, ?, ?)", ...row);
		return test(table, sql);
	});

const ROWS: [string, string, number][] = [
	["2026-11-19", "a", 1],
	["2026-11-20", "a", 10],
	["2026-11-20", "b", 100],
	["2026-11-21", "a", 1000],
];

it("sums the days of a report, both ends included", () =>
	withRows(ROWS, (table) => {
		const days = { from: "2026-11-20", to: "2026-11-21" };
		expect(table.sumDays({ ...days, by: [] })).toEqual({
			rows: [{ n: 1110 }],
			total: { n: 1110 },
			truncated: false,
		});
		expect(table.sumDays({ ...days, to: "2026-11-20", by: ["model"] })).toEqual({
			rows: [
				{ model: "a", n: 10 },
				{ model: "b", n: 100 },
			],
			total: { n: 110 },
			truncated: false,
		});
	}));

it("filters by a dimension, and groups by the requested dimensions in the order of the table", () =>
	withRows(ROWS, (table) => {
		expect(table.sumDays({ where: { model: "a" }, by: ["model", "day"] }).rows).toEqual([
			{ day: "2026-11-19", model: "a", n: 1 },
			{ day: "2026-11-20", model: "a", n: 10 },
			{ day: "2026-11-21", model: "a", n: 1000 },
		]);
	}));

it("reports 10,000 rows and the sum of all rows", () =>
	withRows([], (table, sql) => {
		const insert = "WITH RECURSIVE c(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM c WHERE i < ?)";
		const add = (from: number, to: number) =>
			sql.exec(`${insert} INSERT INTO by_day SELECT 1, '2026-11-21', printf('m%05d', i), 1 FROM c`, from, to);
		const report = () => {
			const { rows, total, truncated } = table.sumDays({ by: ["model"] });
			return { rows: rows.length, last: rows.at(-1)?.model, total: total.n, truncated };
		};
		add(1, 10_000);
		expect(report()).toEqual({ rows: 10_000, last: "m10000", total: 10_000, truncated: false });
		add(10_001, 10_001);
		expect(report()).toEqual({ rows: 10_000, last: "m10000", total: 10_001, truncated: true });
	}));

it("keeps a day for 400 days", () =>
	withRows(
		[
			// 401 and 400 days before 2026-11-21.
			["2025-10-16", "a", 1],
			["2025-10-17", "a", 2],
		],
		(table) => {
			expect(table.nextExpiry()).toBe(Date.parse("2026-11-21T00:00:00Z"));
			table.deleteExpired(NOON);
			expect(table.sumDays({ by: ["day"] }).rows).toEqual([{ day: "2025-10-17", n: 2 }]);
			expect(table.nextExpiry()).toBe(Date.parse("2026-11-22T00:00:00Z"));
			table.deleteExpired(NOON + 86_400_000);
			expect(table.nextExpiry()).toBeUndefined();
		},
	));

it("adds rows to those with the same dimensions", () =>
	withRows(ROWS, (table) => {
		const sums = new Map();
		table.sum(sums, { day: "2026-11-20", model: "a", n: 1 });
		table.sum(sums, { day: "2026-11-20", model: "a", n: 2 });
		table.sum(sums, { day: "2026-11-22", model: "a", n: 4 });
		expect([...sums.values()]).toEqual([
			{ day: "2026-11-20", model: "a", n: 3 },
			{ day: "2026-11-22", model: "a", n: 4 },
		]);
		table.add(sums.values());
		expect(table.sumDays({ where: { model: "a" }, by: ["day"] }).rows).toEqual([
			{ day: "2026-11-19", n: 1 },
			{ day: "2026-11-20", n: 13 },
			{ day: "2026-11-21", n: 1000 },
			{ day: "2026-11-22", n: 4 },
		]);
	}));

it("reads 0 for a count that a table of an earlier version lacks", () =>
	withRows([["2026-11-20", "a", 10]], (_, sql) => {
		const layout = dailyLayout<"day" | "model", "n" | "later">("by_day", dimensions, ["n", "later"]);
		const table = new DailyTable(rowsOf(sql), layout);
		expect(table.sumDays({ by: [] }).total).toEqual({ n: 10, later: 0 });
	}));
