/** Which parts of the table of responses have some that expire, by the hour. An index of all responses would cost a page in each commit. */

/**
 * `part`: the first characters of keys. Written with the first response of a part that expires in the hour before `due` (epoch
 * milliseconds). A row dies when the expired responses of its part are deleted.
 */
const EXPIRIES = `CREATE TABLE IF NOT EXISTS expiries (
	due INTEGER NOT NULL,
	part TEXT NOT NULL,
	PRIMARY KEY (due, part)
) WITHOUT ROWID`;

const HOUR_MS = 60 * 60_000;
/** 7 of the 12 hexadecimal digits of a key's time: 17 minutes. */
const PART_CHARACTERS = 7;

interface ExpiryRow extends Record<string, SqlStorageValue> {
	due: number;
	part: string;
}

export class ExpiryTable {
	readonly #sql: SqlStorage;
	/** The last row that was added. Most responses have the same. */
	#last: ExpiryRow | undefined;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(EXPIRIES);
	}

	/** The response with the key expires. Returns when it is deleted. */
	add(key: string, expiresAt: number): number {
		const due = Math.ceil(expiresAt / HOUR_MS) * HOUR_MS;
		const part = key.slice(0, PART_CHARACTERS);
		if (this.#last?.due === due && this.#last.part === part) return due;
		this.#sql.exec("INSERT OR IGNORE INTO expiries VALUES (?, ?)", due, part);
		this.#last = { due, part };
		return due;
	}

	due(now: number): ExpiryRow[] {
		return this.#sql
			.exec<ExpiryRow>("SELECT due, part FROM expiries WHERE due <= ? ORDER BY due", now)
			.toArray();
	}

	delete({ due, part }: ExpiryRow): void {
		this.#last = undefined;
		this.#sql.exec("DELETE FROM expiries WHERE due = ? AND part = ?", due, part);
	}

	next(): number | undefined {
		const { first } = this.#sql
			.exec<{ first: number | null }>("SELECT min(due) AS first FROM expiries")
			.one();
		return first ?? undefined;
	}
}
