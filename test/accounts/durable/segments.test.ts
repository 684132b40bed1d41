import { describe, expect, it } from "vitest";
import { Segments, type SettledRow } from "../../../src/accounts/durable/segments.ts";
import { NOON, rowsIn, withLedger } from "../fixtures.ts";

const row = (id: number, fields: Partial<SettledRow> = {}): SettledRow => ({
	id,
	ticket: `t${id}`,
	admittedAt: NOON,
	model: "m",
	task: "Text Generation",
	token: "",
	rateKeys: "",
	reserved: 5,
	outcome: "ok",
	settledAt: NOON + id,
	microNeurons: 4,
	inputTokens: 3,
	cachedTokens: 0,
	outputTokens: 2,
	estimated: 1,
	backend: "",
	attempts: 1,
	latencyMs: 9,
	...fields,
});

const many = (from: number, to: number): SettledRow[] =>
	Array.from({ length: to - from + 1 }, (_, index) => row(from + index));

const withSegments = (test: (segments: Segments, sql: SqlStorage) => void): Promise<void> =>
	withLedger(({ storage }) => test(new Segments(rowsIn(storage)), storage.sql));

describe("segments", () => {
	it("return each request as it was written, latest first, also after a restart", () =>
		withSegments((segments, sql) => {
			const rows = [row(1, { code: 3040, firstTokenMs: 5 }), row(2), row(3, { rateKeys: "a\nb" })];
			segments.add(rows.slice(0, 2));
			segments.add(rows.slice(2));
			for (const each of [segments, new Segments({ sql, account: 1, tables: new Map() })]) {
				expect([...each.before(4)]).toEqual([rows[2], rows[1], rows[0]]);
				expect([...each.before(2)]).toEqual([rows[0]]);
				expect(each.lastId()).toBe(3);
				expect(each.latest()).toBe(NOON + 3);
			}
		}));

	it("have the values of a request in this order, and no others", () =>
		withSegments((segments, sql) => {
			segments.add([row(1, { code: 3040, firstTokenMs: 5 })]);
			const [{ text = "" } = {}] = sql.exec<{ text: string }>("SELECT text FROM segments").toArray();
			expect(JSON.parse(text)).toEqual([
				[
					...["t1", NOON, "m", "Text Generation", "", "", 5, "ok", NOON + 1, 4, 3, 0, 2, 1, "", 1, 9],
					...[5, 3040, null, null],
				],
			]);
		}));

	it("have less than 2 MB in a row, also with long names of models", () =>
		withSegments((segments, sql) => {
			const rows = many(1, 1_000).map((each) => ({ ...each, model: "€".repeat(1_024) }));
			segments.add(rows);
			const { bytes } = sql
				.exec<{ bytes: number }>("SELECT max(octet_length(text)) AS bytes FROM segments")
				.one();
			expect(bytes).toBeLessThan(2_000_000);
			expect([...segments.before(1_001)]).toEqual(rows.toReversed());
			expect(segments.lastId()).toBe(1_000);
		}));

	it("have at most 1,000 requests in a row", () =>
		withSegments((segments, sql) => {
			segments.add(many(1, 2_100));
			expect(sql.exec("SELECT id, requests FROM segments ORDER BY id").toArray()).toEqual([
				{ id: 1_000, requests: 1_000 },
				{ id: 2_000, requests: 1_000 },
				{ id: 2_100, requests: 100 },
			]);
			expect([...segments.before(1_500)].map(({ id }) => id).slice(0, 2)).toEqual([1_499, 1_498]);
		}));

	it("of the last minute contain every request of it", () =>
		withSegments((segments) => {
			segments.add([row(1)]);
			segments.add([row(2), row(3, { admittedAt: NOON + 60_000 })]);
			expect(segments.lastMinute(NOON + 60_001).map(({ id }) => id)).toEqual([2, 3]);
		}));

	it("are deleted seven days after their latest request", () =>
		withSegments((segments) => {
			expect(segments.nextExpiry()).toBeUndefined();
			segments.add([row(1, { settledAt: NOON })]);
			segments.add([row(2)]);
			expect(segments.nextExpiry()).toBe(NOON + 604_800_000);
			for (const [now, left] of [
				[NOON + 604_799_999, [2, 1]],
				[NOON + 604_800_000, [2]],
				[NOON + 604_800_002, []],
			] as const) {
				expect(segments.deleteExpired(now, 2)).toBe(false);
				expect([...segments.before(3)].map(({ id }) => id)).toEqual(left);
			}
			expect([segments.lastId(), segments.latest()]).toEqual([0, 0]);
		}));

	it("with 10,000 newer requests are deleted after a minute", () =>
		withSegments((segments) => {
			segments.add([row(1, { settledAt: NOON })]);
			segments.add([row(2, { settledAt: NOON })]);
			for (const [now, lastId, left] of [
				[NOON + 60_000, 10_000, [2, 1]],
				[NOON + 59_999, 10_001, [2, 1]],
				[NOON + 60_000, 10_001, [2]],
			] as const) {
				segments.deleteExpired(now, lastId);
				expect([...segments.before(3)].map(({ id }) => id)).toEqual(left);
			}
		}));

	it("are deleted by several alarms if there are more than 10,000", () =>
		withSegments((segments, sql) => {
			sql.exec(
				`INSERT INTO segments (account, id, requests, latest_at, text)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
				SELECT 1, i, 1, 0, '[]' FROM n`,
			);
			expect(segments.deleteExpired(NOON, 10_001)).toBe(true);
			expect([...segments.before(20_000)]).toEqual([]);
			expect(segments.lastId()).toBe(10_001);
			expect(segments.deleteExpired(NOON, 10_001)).toBe(false);
			expect(segments.lastId()).toBe(0);
		}));
});
