import { expect, it } from "vitest";
import { deleteOldDays, nextDayExpiry, sumDays } from "../../../src/accounts/durable/daily-tables.ts";
import { NOON, withLedger } from "../fixtures.ts";

const TABLE = { name: "counted", sums: "sum(n) AS n", dimensions: ["day", "model"] } as const;
const ANY = { from: undefined, to: undefined, where: {} };

/** An account's object with an additional table of counts by day and model. */
const withRows = <T>(rows: readonly [string, string, number][], test: (sql: SqlStorage) => T): Promise<T> =>
	withLedger(({ storage: { sql } }) => {
		sql.exec("CREATE TABLE counted (day TEXT, model TEXT, n INTEGER)");
		for (const row of rows) sql.exec("INSERT INTO counted VALUES (?, ?, ?)", ...row);
		return test(sql);
	});

const ROWS: [string, string, number][] = [
	["2026-11-19", "a", 1],
	["2026-11-20", "a", 10],
	["2026-11-20", "b", 100],
	["2026-11-21", "a", 1000],
];

it("sums the days of a report, both ends included", () =>
	withRows(ROWS, (sql) => {
		const days = { ...ANY, from: "2026-11-20", to: "2026-11-21" };
		expect(sumDays(sql, TABLE, { ...days, by: [] })).toEqual({
			rows: [{ n: 1110 }],
			total: { n: 1110 },
			truncated: false,
		});
		expect(sumDays(sql, TABLE, { ...days, to: "2026-11-20", by: ["model"] })).toEqual({
			rows: [
				{ model: "a", n: 10 },
				{ model: "b", n: 100 },
			],
			total: { n: 110 },
			truncated: false,
		});
	}));

it("filters by a dimension, and groups by the requested dimensions in the order of the table", () =>
	withRows(ROWS, (sql) => {
		expect(sumDays(sql, TABLE, { ...ANY, where: { model: "a" }, by: ["model", "day"] }).rows).toEqual([
			{ day: "2026-11-19", model: "a", n: 1 },
			{ day: "2026-11-20", model: "a", n: 10 },
			{ day: "2026-11-21", model: "a", n: 1000 },
		]);
	}));

it("reports 10,000 rows and the sum of all rows", () =>
	withRows([], (sql) => {
		const insert = "WITH RECURSIVE c(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM c WHERE i < ?)";
		const add = (from: number, to: number) =>
			sql.exec(`${insert} INSERT INTO counted SELECT '2026-11-21', printf('m%05d', i), 1 FROM c`, from, to);
		const report = () => {
			const { rows, total, truncated } = sumDays<"day" | "model", { n: number }>(sql, TABLE, {
				...ANY,
				by: ["model"],
			});
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
		(sql) => {
			expect(nextDayExpiry(sql, "counted")).toBe(Date.parse("2026-11-21T00:00:00Z"));
			deleteOldDays(sql, "counted", NOON);
			expect(sumDays(sql, TABLE, { ...ANY, by: ["day"] }).rows).toEqual([{ day: "2025-10-17", n: 2 }]);
			expect(nextDayExpiry(sql, "counted")).toBe(Date.parse("2026-11-22T00:00:00Z"));
			deleteOldDays(sql, "counted", NOON + 86_400_000);
			expect(nextDayExpiry(sql, "counted")).toBeUndefined();
		},
	));
