/** The vector indexes in the report of an account's usage: rows of their own by model and task, more counts of the rows by day. */
import type { UsedObjects } from "../../accounts/client/used-objects.ts";
import { DAY_MS, startOfDay } from "../../accounts/clock.ts";
import type { Dimension, UsageQuery } from "../../accounts/durable/usage.ts";
import type { CountedTitle } from "../../models/rates.ts";
import type { VectorIndexes } from "../../retrieval/vectors/client/vector-indexes.ts";
import type { VectorDay, VectorPeriod } from "../../retrieval/vectors/durable/day-table.ts";

export const VECTOR_COUNTS = ["vector_queries", "queried_dimensions", "stored_dimensions"] as const;
type VectorCounts = Record<(typeof VECTOR_COUNTS)[number], number>;

/** The name in the limits of rates. */
const TASK: CountedTitle = "Vector Query";

type Row = Record<string, unknown>;
type RowsQuery = VectorPeriod &
	Pick<UsageQuery, "model" | "task" | "token" | "backend"> & { columns: readonly Dimension[] };

interface VectorRows {
	rows: readonly { dimensions: Row; counts: VectorCounts }[];
	totals: VectorCounts;
}

/** `undefined`: the account has none that match the query. They have no token and no backend. */
export async function vectorRows(
	account: string,
	{ backend, columns, from, model, task, to, token }: RowsQuery,
	services: VectorDaysServices,
): Promise<VectorRows | undefined> {
	if (backend !== undefined || token !== undefined || (task ?? TASK) !== TASK) return undefined;
	const all = (await vectorDays(account, { from, to }, services)).rows;
	const matching = all.filter((row) => model === undefined || dimensionsOf(row).model === model);
	if (matching.length === 0) return undefined;
	const days = daysOf({ from, to });
	const groups = Map.groupBy(matching, (row) => keyOf(dimensionsOf(row), columns));
	return {
		rows: [...groups.values()].map((rows) => ({
			dimensions: rows[0] ? dimensionsOf(rows[0]) : {},
			counts: countsOf(rows, columns.includes("day") ? 1 : days),
		})),
		totals: countsOf(matching, days),
	};
}

export interface VectorDaysServices {
	vectorIndexes: Pick<VectorIndexes, "days">;
	usedObjects: Pick<UsedObjects, "of">;
}

/** An account without indexes has no object for them, and a report creates none. */
export async function vectorDays(
	account: string,
	period: VectorPeriod,
	{ usedObjects, vectorIndexes }: VectorDaysServices,
): ReturnType<VectorIndexes["days"]> {
	const used = await usedObjects.of(account);
	return used.has("VECTOR_REGISTRY") ? vectorIndexes.days(account, period) : { rows: [], truncated: false };
}

const dimensionsOf = ({ day, index }: VectorDay): Record<Dimension, string | null> => ({
	...{ day, model: `vectorize/${index}`, task: TASK },
	...{ token: null, backend: null },
});

const keyOf = (row: Row, columns: readonly Dimension[]): string =>
	JSON.stringify(columns.map((column) => row[column]));

/** `stored_dimensions`: the average of the days. A day without a row has none. */
export function countsOf(rows: readonly VectorDay[], days: number): VectorCounts {
	const total = (value: (row: VectorDay) => number): number => rows.reduce((sum, row) => sum + value(row), 0);
	return {
		vector_queries: total(({ queries }) => queries),
		queried_dimensions: total(({ queriedDimensions }) => queriedDimensions),
		stored_dimensions: total(({ storedDimensions }) => storedDimensions) / days,
	};
}

/** Of a period. */
export const daysOf = ({ from, to }: VectorPeriod): number =>
	(startOfDay(to) - startOfDay(from)) / DAY_MS + 1;

/** The rows of both, sorted by the columns. `empty`: the counts of a row without requests. */
export function withVectorRows(
	ofModels: readonly Row[],
	{ rows }: VectorRows,
	{ columns, empty }: { columns: readonly Dimension[]; empty: Row },
): Row[] {
	const merged = new Map(ofModels.map((row) => [keyOf(row, columns), row]));
	for (const { counts, dimensions } of rows) {
		const key = keyOf(dimensions, columns);
		const own = Object.fromEntries(columns.map((column) => [column, dimensions[column]]));
		merged.set(key, { ...(merged.get(key) ?? { ...own, ...empty }), ...counts });
	}
	return [...merged.values()].sort(byColumns(columns));
}

/** Compares rows by the first column in which they differ. */
export const byColumns =
	(columns: readonly string[]) =>
	(a: Row, b: Row): number => {
		for (const column of columns) {
			const [one, other] = [String(a[column] ?? ""), String(b[column] ?? "")];
			if (one !== other) return one < other ? -1 : 1;
		}
		return 0;
	};
