/** The aliases of models that an account has set through the API. */

const SCHEMA = `
-- One row for each alias, written and deleted by the alias routes.
-- If ALIASES of the configuration has the same alias, the row is not used.
CREATE TABLE IF NOT EXISTS aliases (
	alias TEXT PRIMARY KEY,
	model TEXT NOT NULL,
	modified_on INTEGER NOT NULL
)`;

/** An isolate reads all of them in one call. */
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

	/** False if the account has the maximum number of aliases. */
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

	/** False if there is no such alias. */
	delete(alias: string): boolean {
		return this.#sql.exec("DELETE FROM aliases WHERE alias = ?", alias).rowsWritten > 0;
	}
}
