/** A table of counts by UTC day and further dimensions: sums, reports, and deletion of old days. */
import { DAY_MS, startOfDay, utcDay } from "../clock.ts";
import { type AccountRows, columnOf, columnsOf, conditionsOf, RowTable } from "./row-table.ts";

const KEPT_DAYS = 400;
/** Rows of one report. Later rows are left out. */
const MAX_ROWS = 10_000;

type DailyRow<Dimension extends string, Count extends string> = Record<Dimension, string | number> &
	Record<Count, number>;

/** Rows by their dimensions. */
export type DailySums<Dimension extends string, Count extends string> = Map<
	string,
	DailyRow<Dimension, Count>
>;

/** Days are `2026-11-21`, both ends included. */
interface DailyQuery<Dimension extends string> {
	from?: string | undefined;
	to?: string | undefined;
	/** Filters by dimension; `undefined` accepts every value. */
	where?: Partial<Record<Dimension, string | undefined>>;
	/** Dimensions of the rows; without any there is a single row. */
	by: readonly Dimension[];
}

interface DailyReport<Dimension extends string, Count extends string> {
	/** Sorted by the dimensions, in the order of the table. */
	rows: (Record<Count, number> & Partial<Record<Dimension, SqlStorageValue>>)[];
	/** The sum over all rows that match the query, also those left out. */
	total: Record<Count, number>;
	/** Whether rows were left out. */
	truncated: boolean;
}

/** {@link dailyLayout} makes it once for all accounts. */
interface DailyLayout<Dimension extends string, Count extends string> {
	name: string;
	columns: Readonly<Record<Dimension | Count, string>>;
	key: readonly Dimension[];
	summed: readonly Count[];
}

/** `dimensions`: the declarations of their columns. One of them is `day`. */
export function dailyLayout<Dimension extends string, Count extends string>(
	name: string,
	dimensions: Record<Dimension, string>,
	counts: readonly Count[],
): DailyLayout<Dimension, Count> {
	// A column that is added to a table with rows needs a default.
	const declared = counts.map((count) => [count, "INTEGER NOT NULL DEFAULT 0"]);
	const columns = { ...dimensions, ...Object.fromEntries(declared) } as Record<Dimension | Count, string>;
	return { name, columns, key: Object.keys(dimensions) as Dimension[], summed: counts };
}

export class DailyTable<Dimension extends string, Count extends string> {
	readonly #dimensions: readonly Dimension[];
	readonly #counts: readonly Count[];
	protected readonly table: RowTable<DailyRow<Dimension, Count>>;

	constructor(rows: AccountRows, layout: DailyLayout<Dimension, Count>) {
		this.#dimensions = layout.key;
		this.#counts = layout.summed;
		this.table = new RowTable<DailyRow<Dimension, Count>>({ rows, ...layout });
	}

	/** Adds the row to the one of `sums` with the same dimensions. */
	sum(sums: DailySums<Dimension, Count>, row: DailyRow<Dimension, Count>): void {
		const values: (string | number)[] = [];
		for (const dimension of this.#dimensions) values.push(row[dimension]);
		const id = JSON.stringify(values);
		const existing: Record<Count, number> | undefined = sums.get(id);
		if (!existing) sums.set(id, { ...row });
		else for (const count of this.#counts) existing[count] += row[count];
	}

	/** Adds each row to the stored one with the same dimensions. */
	add(rows: Iterable<DailyRow<Dimension, Count>>): void {
		for (const row of rows) this.table.write(row);
	}

	/** `total()` is a floating-point sum. `sum()` of integers fails above 2^63, so one wrong row would break every report. */
	sumDays({ from, to, where = {}, by }: DailyQuery<Dimension>): DailyReport<Dimension, Count> {
		type Row = DailyReport<Dimension, Count>["rows"][number] & Record<string, SqlStorageValue>;
		const { where: condition, values } = conditionsOf([
			["day >= ?", from],
			["day <= ?", to],
			...this.#dimensions.map((dimension) => [`${dimension} = ?`, where[dimension]] as const),
		]);
		const sums = this.#counts.map((count) => `total(${columnOf(count)}) AS "${count}"`).join(", ");
		const total = this.table.readOne<Row>(sums, { where: condition }, ...values);
		const columns = this.#dimensions.filter((dimension) => by.includes(dimension));
		if (columns.length === 0) return { rows: [total], total, truncated: false };
		const list = columnsOf(columns);
		const clause = { where: condition, group: list, order: list, limit: MAX_ROWS + 1 };
		const rows = this.table.read<Row>(`${list}, ${sums}`, clause, ...values);
		return { rows: rows.slice(0, MAX_ROWS), total, truncated: rows.length > MAX_ROWS };
	}

	/** Deletes the rows of days that are no longer kept. */
	deleteExpired(now: number): void {
		this.table.delete("day < ?", utcDay(now - KEPT_DAYS * DAY_MS));
	}

	/** When the rows of the oldest day may be deleted. */
	nextExpiry(): number | undefined {
		const { day } = this.table.readOne<{ day: string | null }>("min(day) AS day");
		return day === null ? undefined : startOfDay(day) + (KEPT_DAYS + 1) * DAY_MS;
	}
}
