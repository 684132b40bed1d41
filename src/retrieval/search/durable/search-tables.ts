/** The tables of the `SearchInstance` object. */
import { ChunkTable, type Tokenizer } from "./chunk-table.ts";
import { ItemTable } from "./item-table.ts";
import { Jobs } from "./jobs.ts";
import { LogTable } from "./log-table.ts";

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
}

export function searchTables(sql: SqlStorage): SearchTables {
	const items = new ItemTable(sql);
	const logs = new LogTable(sql);
	return { items, logs, chunks: new ChunkTable(sql), jobs: new Jobs(items, logs) };
}
