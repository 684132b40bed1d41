/** The table of the operator's changes to replicas, in the `Fleet` object. A row is kept until the operator deletes it. */
import { present } from "../core/present.ts";
import { addColumns } from "../core/sql-columns.ts";
import type { Role } from "../pools/replica.ts";
import { MAX_CHANGES, type ReplicaChange, type ReplicaState } from "../pools/replica-changes.ts";

const TABLE = `CREATE TABLE IF NOT EXISTS replica_changes (
	backend TEXT NOT NULL,
	url TEXT NOT NULL,
	state TEXT NOT NULL,
	added INTEGER NOT NULL,
	PRIMARY KEY (backend, url)
) WITHOUT ROWID`;

/** Columns that the table of an earlier version lacks. */
const COLUMNS = { role: "TEXT", bootstrap_port: "INTEGER" };

interface ReplicaRow extends Record<string, SqlStorageValue> {
	backend: string;
	url: string;
	state: string;
	added: number;
	role: string | null;
	bootstrap_port: number | null;
}

export class ReplicaTable {
	readonly #sql: SqlStorage;
	/** All rows, since the object started or the last change. */
	#rows: ReplicaChange[] | undefined;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TABLE);
		addColumns(sql, "replica_changes", COLUMNS);
	}

	list(): ReplicaChange[] {
		this.#rows ??= this.#sql
			.exec<ReplicaRow>(
				"SELECT backend, url, state, added, role, bootstrap_port FROM replica_changes ORDER BY backend, url",
			)
			.toArray()
			// `put` is the only writer.
			.map(({ added, state, role, bootstrap_port, ...row }) => ({
				...row,
				state: state as ReplicaState,
				added: added === 1,
				...present({
					role: (role as Role | null) ?? undefined,
					bootstrapPort: bootstrap_port ?? undefined,
				}),
			}));
		return this.#rows;
	}

	/** Returns nothing if the table is full. */
	put({ backend, url, state, added, role, bootstrapPort }: ReplicaChange): ReplicaChange[] | undefined {
		const isNew = !this.list().some((row) => row.backend === backend && row.url === url);
		if (isNew && this.list().length >= MAX_CHANGES) return undefined;
		this.#sql.exec(
			"INSERT OR REPLACE INTO replica_changes (backend, url, state, added, role, bootstrap_port) VALUES (?, ?, ?, ?, ?, ?)",
			backend,
			url,
			state,
			Number(added),
			role ?? null,
			bootstrapPort ?? null,
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
