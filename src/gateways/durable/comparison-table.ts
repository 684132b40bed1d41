/** Answers beside those of logs. */
import type {
	ComparisonPage,
	ComparisonPageQuery,
	ComparisonSource,
	NewComparison,
} from "../comparisons/records.ts";

/**
 * Written at the end of a replay, and for each answer of a shadow; a second delivery replaces the row. It dies with its log, or when its source is
 * deleted. `source`: the id of the replay, or `shadow:` and the name of the shadow. `comparison`: JSON.
 */
const TABLES = `CREATE TABLE IF NOT EXISTS comparisons (
	source TEXT NOT NULL,
	log TEXT NOT NULL,
	comparison TEXT NOT NULL,
	PRIMARY KEY (source, log)
);
CREATE INDEX IF NOT EXISTS comparisons_by_log ON comparisons (log)`;

export class ComparisonTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLES);
	}

	/** Comparisons whose log was deleted meanwhile are ignored. */
	insert(source: string, comparisons: readonly NewComparison[]): void {
		for (const { log, text } of comparisons)
			this.#sql.exec(
				"INSERT OR REPLACE INTO comparisons SELECT ?, id, ? FROM logs WHERE id = ?",
				source,
				text,
				log,
			);
	}

	/** In the order of the logs, the newest first. */
	page({ source, offset, limit }: ComparisonPageQuery): ComparisonPage {
		const texts = this.#sql
			.exec<{ comparison: string }>(
				"SELECT comparison FROM comparisons WHERE source = ? ORDER BY log DESC LIMIT ? OFFSET ?",
				...[source, limit, offset],
			)
			.toArray()
			.map(({ comparison }) => comparison);
		const { total } = this.#sql
			.exec<{ total: number }>("SELECT count(*) AS total FROM comparisons WHERE source = ?", source)
			.one();
		return { texts, total };
	}

	/** The sources whose names begin so, with the numbers of their comparisons. */
	sources(beginning: string): ComparisonSource[] {
		return this.#sql
			.exec<{ source: string; total: number }>(
				"SELECT source, count(*) AS total FROM comparisons WHERE source >= ? AND source < ? GROUP BY source",
				...[beginning, `${beginning}\uffff`],
			)
			.toArray();
	}

	delete(source: string): void {
		this.#sql.exec("DELETE FROM comparisons WHERE source = ?", source);
	}

	/** Logs were deleted. `ids`: a JSON array. */
	deleteOf(ids: string): void {
		this.#sql.exec("DELETE FROM comparisons WHERE log IN (SELECT value FROM json_each(?))", ids);
	}
}
