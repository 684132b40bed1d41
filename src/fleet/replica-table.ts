/** The table of the operator's changes to replicas, in the `Fleet` object. A row lives until the operator deletes it. */
import { MAX_CHANGES, type ReplicaChange, type ReplicaState } from "../pools/replica-changes.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS replica_changes (
	backend TEXT NOT NULL,
	url TEXT NOT NULL,
	state TEXT NOT NULL,
	added INTEGER NOT NULL,
	PRIMARY KEY (backend, url)
) WITHOUT ROWID`;

interface Row extends Record<string, SqlStorageValue> {
	backend: string;
	url: string;
	state: string;
	added: number;
}

export class ReplicaTable {
	readonly #sql: SqlStorage;
	/** All rows, since the object started or the last change. */
	#rows: ReplicaChange[] | undefined;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLE);
	}

	list(): ReplicaChange[] {
		this.#rows ??= this.#sql
			.exec<Row>("SELECT backend, url, state, added FROM replica_changes ORDER BY backend, url")
			.toArray()
			// `put` is the only writer.
			.map(({ added, state, ...row }) => ({ ...row, state: state as ReplicaState, added: added === 1 }));
		return this.#rows;
	}

	/** Returns nothing if the table is full. */
	put({ backend, url, state, added }: ReplicaChange): ReplicaChange[] | undefined {
		const isNew = !this.list().some((row) => row.backend === backend && row.url === url);
		if (isNew && this.list().length >= MAX_CHANGES) return undefined;
		this.#sql.exec(
			"INSERT OR REPLACE INTO replica_changes VALUES (?, ?, ?, ?)",
			backend,
			url,
			state,
			Number(added),
		);
		this.#rows = undefined;
		return this.list();
	}

	delete({ backend, url }: Pick<ReplicaChange, "backend" | "url">): ReplicaChange[] {
		this.#sql.exec("DELETE FROM replica_changes WHERE backend = ? AND url = ?", backend, url);
		this.#rows = undefined;
		return this.list();
	}
}
