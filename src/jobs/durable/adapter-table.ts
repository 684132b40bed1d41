/** The adapters of an account, without the bytes of their files. */
import type {
	AdapterFile,
	AdapterFileName,
	AdapterRecord,
	AdapterUsage,
	NewAdapter,
} from "../adapters/records.ts";

const ADAPTERS = `CREATE TABLE IF NOT EXISTS adapters (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	name TEXT NOT NULL UNIQUE,
	model TEXT NOT NULL,
	description TEXT,
	is_public INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	modified_at INTEGER NOT NULL
)`;
const FILES = `CREATE TABLE IF NOT EXISTS adapter_files (
	adapter TEXT NOT NULL,
	name TEXT NOT NULL,
	key TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	rank INTEGER NOT NULL,
	PRIMARY KEY (adapter, name)
) WITHOUT ROWID`;

/** Adapters that were deleted, and whose bytes may exist. A row is written with the deletion, and dies after the bytes. */
const DELETED = "CREATE TABLE IF NOT EXISTS deleted_adapters (id TEXT PRIMARY KEY) WITHOUT ROWID";

interface AdapterRow extends Record<string, SqlStorageValue> {
	id: string;
	name: string;
	model: string;
	description: string | null;
	is_public: number;
	created_at: number;
	modified_at: number;
}

interface AdapterFileRow extends Record<string, SqlStorageValue> {
	name: AdapterFileName;
	key: string;
	bytes: number;
	rank: number;
}

export class AdapterTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${ADAPTERS}; ${FILES}; ${DELETED}`);
	}

	usage(): AdapterUsage {
		return this.#sql
			.exec<Record<keyof AdapterUsage, number>>(
				`SELECT (SELECT count(*) FROM adapters) AS adapters,
				(SELECT coalesce(sum(bytes), 0) FROM adapter_files) AS adapterBytes`,
			)
			.one();
	}

	/** The oldest first. */
	list(): AdapterRecord[] {
		return this.#rows("ORDER BY seq").map((row) => this.#record(row));
	}

	byId(id: string): AdapterRecord | undefined {
		const [row] = this.#rows("WHERE id = ?", id);
		return row && this.#record(row);
	}

	byName(name: string): AdapterRecord | undefined {
		const [row] = this.#rows("WHERE name = ?", name);
		return row && this.#record(row);
	}

	add({ id, name, model, description, isPublic, createdAt }: NewAdapter): void {
		this.#sql.exec(
			`INSERT INTO adapters (id, name, model, description, is_public, created_at, modified_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			...[id, name, model, description ?? null, Number(isPublic), createdAt, createdAt],
		);
	}

	setFile(adapter: string, { name, key, bytes, rank }: AdapterFile, now: number): void {
		this.#sql.exec(
			"INSERT OR REPLACE INTO adapter_files (adapter, name, key, bytes, rank) VALUES (?, ?, ?, ?, ?)",
			...[adapter, name, key, bytes, rank],
		);
		this.#sql.exec("UPDATE adapters SET modified_at = ? WHERE id = ?", now, adapter);
	}

	/** Ids of those that were deleted, and whose bytes may exist. */
	deleted(): string[] {
		return this.#sql
			.exec<{ id: string }>("SELECT id FROM deleted_adapters")
			.toArray()
			.map(({ id }) => id);
	}

	/** Hides it from requests. */
	hide(id: string): void {
		this.#sql.exec("INSERT OR IGNORE INTO deleted_adapters VALUES (?)", id);
		this.#sql.exec("DELETE FROM adapter_files WHERE adapter = ?", id);
		this.#sql.exec("DELETE FROM adapters WHERE id = ?", id);
	}

	/** The bytes of a hidden adapter are gone. */
	forget(id: string): void {
		this.#sql.exec("DELETE FROM deleted_adapters WHERE id = ?", id);
	}

	#rows(condition: string, ...values: SqlStorageValue[]): AdapterRow[] {
		return this.#sql.exec<AdapterRow>(`SELECT * FROM adapters ${condition}`, ...values).toArray();
	}

	#record(row: AdapterRow): AdapterRecord {
		const files = this.#sql
			.exec<AdapterFileRow>(
				"SELECT name, key, bytes, rank FROM adapter_files WHERE adapter = ? ORDER BY name",
				row.id,
			)
			.toArray();
		return {
			id: row.id,
			name: row.name,
			model: row.model,
			...(row.description !== null && { description: row.description }),
			isPublic: row.is_public === 1,
			createdAt: row.created_at,
			modifiedAt: row.modified_at,
			files,
		};
	}
}
