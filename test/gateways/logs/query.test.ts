/** Filters, compared with a reference that reads each row. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchOf } from "../../../src/gateways/logs/log-batch.ts";
import type { Log, LogRow } from "../../../src/gateways/logs/log-row.ts";
import { LogFilters, type LogQuery, selectionOf } from "../../../src/gateways/logs/query.ts";
import { newLog, withTable } from "./rows.ts";

const T0 = Date.parse("2026-11-21T12:00:00Z");
const NEWEST: Pick<LogQuery, "orderBy" | "direction"> = { orderBy: "created_at", direction: "desc" };

interface PlainFilter {
	key: string;
	operator: "eq" | "neq" | "contains" | "lt" | "gt";
	value: (string | number | boolean | null)[];
}

type Plain = string | number | boolean | null;

/** The values of a row by the product's names of filters. */
function fieldsOf(row: LogRow, time: number): Record<string, Plain[]> {
	const metadata: Record<string, Plain> = row.metadata === null ? {} : JSON.parse(row.metadata);
	const tokens =
		row.tokens_in === null && row.tokens_out === null ? null : (row.tokens_in ?? 0) + (row.tokens_out ?? 0);
	return {
		provider: [row.provider],
		model: [row.model],
		request_type: [row.request_type],
		event_id: [row.event_id ?? row.id],
		cost: [row.cost],
		tokens: [tokens],
		duration: [row.duration],
		feedback: [row.feedback],
		success: [row.success === 1],
		cached: [row.cached === 1],
		created_at: [time],
		"metadata.key": Object.keys(metadata),
		"metadata.value": Object.values(metadata).map(String),
	};
}

function matches({ key, operator, value }: PlainFilter, fields: Record<string, Plain[]>): boolean {
	const present = fields[key] ?? [];
	const test = (field: Plain, wanted: Plain): boolean => {
		if (operator === "contains")
			return (
				field !== null &&
				wanted !== null &&
				String(field).toLowerCase().includes(String(wanted).toLowerCase())
			);
		if (operator === "lt") return field !== null && wanted !== null && field < wanted;
		if (operator === "gt") return field !== null && wanted !== null && field > wanted;
		return field === wanted;
	};
	const any = present.some((field) => value.some((wanted) => test(field, wanted)));
	return operator === "neq" ? !any : any;
}

const name = fc.constantFrom("alpha", "Beta", "a", "be", "x1");
const rows = fc.record({
	provider: name,
	model: name,
	request_type: fc.option(name),
	event_id: fc.option(name),
	cost: fc.option(fc.constantFrom(0, 0.25, 1.5)),
	tokens_in: fc.option(fc.nat(3)),
	tokens_out: fc.option(fc.nat(3)),
	duration: fc.nat(5),
	feedback: fc.constantFrom(null, 1, -1),
	success: fc.constantFrom<(0 | 1)[]>(0, 1),
	cached: fc.constantFrom<(0 | 1)[]>(0, 1),
	metadata: fc.option(
		fc
			.dictionary(name, fc.oneof(name, fc.nat(3), fc.boolean()), { maxKeys: 3 })
			.map((metadata) => JSON.stringify(metadata)),
	),
});

const some = (value: fc.Arbitrary<Plain>) => fc.array(value, { minLength: 1, maxLength: 2 });
const filter: fc.Arbitrary<PlainFilter> = fc.oneof(
	fc.record({
		key: fc.constantFrom("provider", "model", "request_type", "event_id"),
		operator: fc.constantFrom<PlainFilter["operator"][]>("eq", "neq", "contains"),
		value: some(fc.oneof(name, fc.constant(null))),
	}),
	fc.record({
		key: fc.constantFrom("cost", "tokens", "duration", "feedback"),
		operator: fc.constantFrom<PlainFilter["operator"][]>("eq", "neq", "lt", "gt"),
		value: some(fc.oneof(fc.constantFrom(-1, 0, 0.25, 1, 2, 3), fc.constant(null))),
	}),
	fc.record({
		key: fc.constantFrom("success", "cached"),
		operator: fc.constantFrom<PlainFilter["operator"][]>("eq", "neq"),
		value: some(fc.boolean()),
	}),
	fc.record({
		key: fc.constant("created_at"),
		operator: fc.constantFrom<PlainFilter["operator"][]>("eq", "neq", "lt", "gt"),
		value: some(fc.nat(12).map((offset) => T0 + offset)),
	}),
	fc.record({
		key: fc.constantFrom("metadata.key", "metadata.value"),
		operator: fc.constantFrom<PlainFilter["operator"][]>("eq", "neq", "contains"),
		value: some(fc.oneof(name, fc.constantFrom("1", "true"))),
	}),
);

describe("filters of logs", () => {
	it("select the rows that the reference selects, newest first", () =>
		fc.assert(
			fc.asyncProperty(
				fc.array(rows, { maxLength: 12 }),
				fc.array(filter, { maxLength: 3 }),
				async (contents, filters) => {
					const logs: Log[] = contents.map((fields, index) => newLog(fields, T0 + index));
					const expected = logs
						.filter(({ row }, index) => filters.every((one) => matches(one, fieldsOf(row, T0 + index))))
						.map(({ row }) => row.id)
						.reverse();
					const parsed = LogFilters().parse(JSON.parse(JSON.stringify(filters)));
					const page = await withTable((table) => {
						table.insert(batchOf(logs));
						return table.page({ ...NEWEST, filters: parsed, offset: 0, limit: 50, counted: true });
					});
					expect(page.rows.map(({ id }) => id)).toEqual(expected);
					expect(page.total).toBe(expected.length);
				},
			),
			{ numRuns: 60 },
		));

	it("may be as many as are allowed, with as many values", async () => {
		const logs = Array.from({ length: 4 }, (_, n) =>
			newLog(
				{
					...{ provider: `p${n}`, model: `m${n}`, request_type: `r${n}`, event_id: `e${n}` },
					...{ cost: n, duration: n, feedback: n, metadata: `{"k${n}":"v${n}"}` },
				},
				T0 + n,
			),
		);
		const values = (of: (n: number) => Plain) => Array.from({ length: 50 }, (_, n) => of(n + 1));
		const lists: [string, Plain[]][] = [
			["provider", values((n) => `p${n}`)],
			["model", values((n) => `m${n}`)],
			["request_type", values((n) => `r${n}`)],
			["event_id", values((n) => `e${n}`)],
			["cost", values((n) => n)],
			["duration", values((n) => n)],
			["feedback", values((n) => n)],
			["created_at", values((n) => T0 + n)],
			["metadata.key", values((n) => `k${n}`)],
			["metadata.value", values((n) => `v${n}`)],
		];
		const filtersOf = (operator: PlainFilter["operator"]): PlainFilter[] =>
			[...lists, ...lists].map(([key, value]) => ({ key, operator, value }));
		const found = (filters: PlainFilter[]) =>
			withTable((table) => {
				table.insert(batchOf(logs));
				const query = { ...NEWEST, filters: LogFilters().parse(filters) };
				const page = table.page({ ...query, offset: 1, limit: 5, counted: true });
				return [page.total, ...page.rows.map(({ provider }) => provider)];
			});
		expect(await found(filtersOf("eq"))).toEqual([3, "p2", "p1"]);
		expect(await found(filtersOf("neq"))).toEqual([1]);
		// A later filter also applies to rows that the first ones select.
		expect(
			await found([...filtersOf("eq").slice(1), { key: "model", operator: "eq", value: ["m2"] }]),
		).toEqual([1]);
	});

	it.each([
		[[{ key: "nothing", operator: "eq", value: [1] }]],
		[[{ key: "provider", operator: "like", value: ["a"] }]],
		[[{ key: "provider", operator: "eq", value: [] }]],
		[[{ key: "cost", operator: "contains", value: [1] }]],
		[[{ key: "cost", operator: "eq", value: ["x"] }]],
		[[{ key: "success", operator: "lt", value: [true] }]],
		[[{ key: "created_at", operator: "gt", value: ["yesterday"] }]],
		[Array.from({ length: 21 }, () => ({ key: "model", operator: "eq", value: ["a"] }))],
	])("%j is invalid", (filters) => {
		expect(LogFilters().safeParse(filters).success).toBe(false);
	});

	it("search in the keys and values of metadata, in any case", async () => {
		const logs = [
			newLog({ metadata: '{"team":"Blue","n":7}' }, T0),
			newLog({ metadata: '{"blueprint":true}' }, T0 + 1),
			newLog({ provider: "blue" }, T0 + 2),
		];
		const found = (search: string) =>
			withTable((table) => {
				table.insert(batchOf(logs));
				const { rows } = table.page({ ...NEWEST, filters: [], search, offset: 0, limit: 9 });
				return rows.map(({ id }) => logs.findIndex(({ row }) => row.id === id));
			});
		expect(await found("BLUE")).toEqual([1, 0]);
		expect(await found("7")).toEqual([0]);
		expect(await found("green")).toEqual([]);
	});

	it("read few rows of many: the page of an indexed filter, in every order", async () => {
		const ROWS = 5_000;
		const logs = Array.from({ length: ROWS }, (_, n) =>
			newLog(
				{
					provider: n % 2 ? "openai" : "workers-ai",
					model: n === 7 ? "rare" : "common",
					success: n % 100 ? 1 : 0,
					cached: n % 10 ? 0 : 1,
					event_id: n === 9 ? "event-9" : null,
					feedback: n === 11 ? 1 : null,
					metadata: n % 5 ? '{"team":"red"}' : '{"team":"blue"}',
				},
				T0 + n,
			),
		);
		const FILTERS: [string, unknown[]][] = [
			["none", []],
			["half", [{ key: "provider", operator: "eq", value: ["openai"] }]],
			["one model", [{ key: "model", operator: "eq", value: ["rare"] }]],
			["failed", [{ key: "success", operator: "eq", value: [false] }]],
			["cached", [{ key: "cached", operator: "eq", value: [true] }]],
			["event", [{ key: "event_id", operator: "eq", value: ["event-9"] }]],
			["feedback", [{ key: "feedback", operator: "eq", value: [1] }]],
			["metadata", [{ key: "metadata.value", operator: "eq", value: ["blue"] }]],
			["key", [{ key: "metadata.key", operator: "eq", value: ["team"] }]],
			["time", [{ key: "created_at", operator: "lt", value: [T0 + 100] }]],
		];
		const reads = await withTable((table, sql) => {
			table.insert(batchOf(logs));
			const count = (query: LogQuery): number => {
				const { sql: text, values } = selectionOf(query, { ordered: true });
				const cursor = sql.exec(`SELECT logs.* ${text} LIMIT 50`, ...values);
				cursor.toArray();
				return cursor.rowsRead;
			};
			return {
				...Object.fromEntries(
					FILTERS.map(([name, filters]) => [
						name,
						count({ ...NEWEST, filters: LogFilters().parse(filters) }),
					]),
				),
				...Object.fromEntries(
					(["provider", "model", "success", "cached"] as const).map((orderBy) => [
						`by ${orderBy}`,
						count({ filters: [], orderBy, direction: "desc" }),
					]),
				),
			};
		});
		// For each of 50 rows: the row, its rows in the indexes of the filter, and the first key with its value.
		for (const [name, rowsRead] of Object.entries(reads)) expect(rowsRead, name).toBeLessThanOrEqual(250);
	});
});
