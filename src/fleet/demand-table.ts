/** The table of the hours in which models were used, in the `Fleet` object. A row is kept for `DEMAND_DAYS` days. */
import { DEMAND_DAYS, hourOf, MIN_DAYS, type ModelDemand } from "../pools/model-demand.ts";
import type { TaskName } from "../tasks/task.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS model_hours (
	hour INTEGER NOT NULL,
	backend TEXT NOT NULL,
	model TEXT NOT NULL,
	task TEXT NOT NULL,
	PRIMARY KEY (hour, backend, model, task)
) WITHOUT ROWID`;

interface DemandRow extends Record<string, SqlStorageValue> {
	backend: string;
	model: string;
	task: string;
}

/** Pairs of a backend and a model in one hour. */
const MAX_MODELS = 1_000;
const HOURS = 24;

export class DemandTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLE);
	}

	add({ backend, model, task }: ModelDemand, now: number): void {
		const hour = hourOf(now);
		const { rows } = this.#sql
			.exec<{ rows: number }>("SELECT COUNT(*) AS rows FROM model_hours WHERE hour = ?", hour)
			.one();
		if (rows < MAX_MODELS)
			this.#sql.exec("INSERT OR IGNORE INTO model_hours VALUES (?, ?, ?, ?)", hour, backend, model, task);
	}

	/** The models that were used at this hour of the day on several of the last days. */
	usualAt(hour: number): ModelDemand[] {
		return (
			this.#sql
				.exec<DemandRow>(
					`SELECT backend, model, task FROM model_hours
				WHERE hour >= ? AND hour < ? AND hour % ${HOURS} = ?
				GROUP BY backend, model, task HAVING COUNT(*) >= ${MIN_DAYS}
				ORDER BY COUNT(*) DESC, backend, model`,
					hour - DEMAND_DAYS * HOURS,
					hour,
					hour % HOURS,
				)
				.toArray()
				// `add` is the only writer.
				.map(({ task, ...row }) => ({ ...row, task: task as TaskName }))
		);
	}

	/** Deletes old rows. Returns whether there are others. */
	deleteOld(now: number): boolean {
		this.#sql.exec("DELETE FROM model_hours WHERE hour < ?", hourOf(now) - DEMAND_DAYS * HOURS);
		return this.#sql.exec("SELECT 1 FROM model_hours LIMIT 1").toArray().length > 0;
	}
}
