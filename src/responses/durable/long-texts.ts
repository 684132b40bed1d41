/** Texts that are longer than a row may be: a row has their beginning, and this table the remainder. */

/** Written and deleted with the row that has the beginning. `key`: the table and the key of that row. */
const TEXTS = `CREATE TABLE IF NOT EXISTS texts (
	key TEXT NOT NULL,
	piece INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (key, piece)
) WITHOUT ROWID`;

/** A row has at most 2 MB, and a character at most 3 bytes. */
const PIECE_CHARACTERS = 500_000;

export class LongTexts {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TEXTS);
	}

	/** Returns the beginning of the text, for the row. */
	write(key: string, text: string): string {
		if (text.length < PIECE_CHARACTERS) return text;
		this.delete(key);
		for (let at = PIECE_CHARACTERS, piece = 0; at < text.length; at += PIECE_CHARACTERS, piece++)
			this.#sql.exec("INSERT INTO texts VALUES (?, ?, ?)", key, piece, text.slice(at, at + PIECE_CHARACTERS));
		return text.slice(0, PIECE_CHARACTERS);
	}

	/** `beginning`: of the row. */
	read(key: string, beginning: string): string {
		if (beginning.length < PIECE_CHARACTERS) return beginning;
		const pieces = this.#sql
			.exec<{ text: string }>("SELECT text FROM texts WHERE key = ? ORDER BY piece", key)
			.toArray();
		return beginning + pieces.map(({ text }) => text).join("");
	}

	delete(key: string): void {
		this.#sql.exec("DELETE FROM texts WHERE key = ?", key);
	}
}
