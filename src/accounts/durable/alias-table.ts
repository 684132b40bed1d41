/** The aliases of models that an account has set through the API. */
import { type AccountRows, RowTable } from "./row-table.ts";

/** An isolate reads all of them in one call. */
export const MAX_ALIASES = 200;

export type AliasRow = {
	alias: string;
	model: string;
	/** Epoch milliseconds. */
	modified_on: number;
};

/**
 * One row for each alias, written and deleted by the alias routes. If `ALIASES` of the configuration has the same alias, the row
 * is not used.
 */
export class AliasTable {
	readonly #table: RowTable<AliasRow>;

	constructor(rows: AccountRows) {
		const columns = { alias: "TEXT", model: "TEXT NOT NULL", modified_on: "INTEGER NOT NULL" };
		this.#table = new RowTable<AliasRow>({ rows, name: "aliases", columns, key: ["alias"] });
	}

	all(): AliasRow[] {
		return this.#table.select({ order: "alias" });
	}

	/** False if the account has the maximum number of aliases. */
	set(row: AliasRow): boolean {
		const others = this.all().filter(({ alias }) => alias !== row.alias);
		if (others.length >= MAX_ALIASES) return false;
		this.#table.write(row);
		return true;
	}

	/** False if there is no such alias. */
	delete(alias: string): boolean {
		return this.#table.delete("alias = ?", alias) > 0;
	}
}
