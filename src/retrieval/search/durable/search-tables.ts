/** The tables of the `SearchInstance` object. */
import { AnswerTable } from "./answer-table.ts";
import { ChunkTable, type Tokenizer } from "./chunk-table.ts";
import { ItemTable } from "./item-table.ts";
import { Jobs } from "./jobs.ts";
import { LogTable } from "./log-table.ts";
import { PlaceTable } from "./place-table.ts";

/** Written when the instance is created or changed. The row dies with the instance. */
const SETUP = `CREATE TABLE IF NOT EXISTS setup (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	json TEXT NOT NULL
)`;

export interface SearchSetup {
	account: string;
	/** The name of the object. */
	object: string;
	namespace: string;
	instance: string;
	tokenizer: Tokenizer;
	/** Absent: the instance has uploads only, or is paused. */
	source?: { intervalMs: number };
}

export class SetupTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(SETUP);
	}

	get(): SearchSetup | undefined {
		const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM setup").toArray();
		return row && JSON.parse(row.json);
	}

	put(setup: SearchSetup): void {
		this.#sql.exec("INSERT OR REPLACE INTO setup VALUES (1, ?)", JSON.stringify(setup));
	}
}

export interface SearchTables {
	items: ItemTable;
	chunks: ChunkTable;
	logs: LogTable;
	jobs: Jobs;
	places: PlaceTable;
	answers: AnswerTable;
}

export function searchTables(sql: SqlStorage): SearchTables {
	const items = new ItemTable(sql);
	const logs = new LogTable(sql);
	return {
		items,
		logs,
		chunks: new ChunkTable(sql),
		jobs: new Jobs(items, logs),
		places: new PlaceTable(sql),
		answers: new AnswerTable(sql),
	};
}

/** In a commit of the caller. The queue deletes the vectors. */
export function removeItem(id: string, { answers, chunks, items, logs }: SearchTables): void {
	chunks.remove(id);
	items.delete(id);
	logs.removeItem(id);
	answers.clear();
}
