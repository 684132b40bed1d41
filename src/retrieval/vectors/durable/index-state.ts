/** The small state of an index: its shape, its metadata indexes' numbers, and how far its mutations are applied. */
import type { NumberedProperties } from "../properties.ts";
import type { VectorShape } from "../records.ts";

/** Written when the index is created, and by mutations. The row dies with the index. */
const STATE = `CREATE TABLE IF NOT EXISTS state (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	json TEXT NOT NULL
)`;

/** Of the index, or of one of its further objects. */
export interface IndexSetup extends VectorShape {
	account: string;
	/** The name of the index's first object. */
	object: string;
	delayMs: number;
}

export interface IndexState extends IndexSetup {
	/** The number of the last mutation. */
	written: number;
	/** Applied mutations. */
	applied: number;
	properties: NumberedProperties;
	/** Of the last applied mutation. Epoch milliseconds. */
	processedAt?: number;
	processedMutation?: string;
}

export class StateTable {
	readonly #sql: SqlStorage;
	#state: IndexState | undefined;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(STATE);
		const [row] = sql.exec<{ json: string }>("SELECT json FROM state").toArray();
		this.#state = row && JSON.parse(row.json);
	}

	/** `undefined`: the index does not exist. */
	get current(): IndexState | undefined {
		return this.#state;
	}

	create(setup: IndexSetup): void {
		this.#write({ ...setup, written: 0, applied: 0, properties: { all: [], last: 0 } });
	}

	change(changes: Partial<IndexState>): void {
		if (this.#state) this.#write({ ...this.#state, ...changes });
	}

	#write(state: IndexState): void {
		this.#sql.exec("INSERT OR REPLACE INTO state VALUES (1, ?)", JSON.stringify(state));
		this.#state = state;
	}
}
