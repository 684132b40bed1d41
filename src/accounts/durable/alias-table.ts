/** The aliases of models that an account has set by the API. */

const SCHEMA = `
-- A row per alias. The alias routes write it. It dies when the alias is deleted.
-- While ALIASES of the configuration has the same alias, the row is not used.
CREATE TABLE IF NOT EXISTS aliases (
	alias TEXT PRIMARY KEY,
	model TEXT NOT NULL,
	modified_on INTEGER NOT NULL
)`;

/** All of them travel to an isolate at once. */
export const MAX_ALIASES = 200;

export type AliasRow = {
	alias: string;
	model: string;
	/** Epoch milliseconds. */
	modified_on: number;
};

export class AliasTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(SCHEMA);
	}

	all(): AliasRow[] {
		return this.#sql.exec<AliasRow>("SELECT alias, model, modified_on FROM aliases ORDER BY alias").toArray();
	}

	/** False where the account has as many as it may have. */
	set(row: AliasRow): boolean {
		const others = this.all().filter(({ alias }) => alias !== row.alias);
		if (others.length >= MAX_ALIASES) return false;
		this.#sql.exec(
			"INSERT OR REPLACE INTO aliases (alias, model, modified_on) VALUES (?, ?, ?)",
			row.alias,
			row.model,
			row.modified_on,
		);
		return true;
	}

	/** False where there is none. */
	delete(alias: string): boolean {
		return this.#sql.exec("DELETE FROM aliases WHERE alias = ?", alias).rowsWritten > 0;
	}
}
