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

/** The end of the piece that starts at `at`. A surrogate pair stays whole, because SQLite has no halves. */
function pieceEnd(text: string, at: number): number {
	const end = at + PIECE_CHARACTERS;
	const isPair = end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1));
	return isPair ? end - 1 : end;
}

/** Whether a text or its beginning is too short to have a remainder. */
const isShort = (text: string): boolean => text.length < PIECE_CHARACTERS - 1;

export class LongTexts {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(TEXTS);
	}

	/** Returns the beginning of the text, for the row. */
	write(key: string, text: string): string {
		if (isShort(text)) return text;
		this.delete(key);
		const first = pieceEnd(text, 0);
		for (let at = first, piece = 0; at < text.length; at = pieceEnd(text, at), piece++)
			this.#sql.exec("INSERT INTO texts VALUES (?, ?, ?)", key, piece, text.slice(at, pieceEnd(text, at)));
		return text.slice(0, first);
	}

	/** `beginning`: of the row. */
	read(key: string, beginning: string): string {
		if (isShort(beginning)) return beginning;
		const pieces = this.#sql
			.exec<{ text: string }>("SELECT text FROM texts WHERE key = ? ORDER BY piece", key)
			.toArray();
		return beginning + pieces.map(({ text }) => text).join("");
	}

	/** Returns the bytes of the remainder. */
	delete(key: string): number {
		return this.#sql
			.exec<{ bytes: number }>(
				"DELETE FROM texts WHERE key = ? RETURNING length(CAST(text AS BLOB)) AS bytes",
				key,
			)
			.toArray()
			.reduce((sum, { bytes }) => sum + bytes, 0);
	}

	/** The bytes of all remainders whose keys begin with `prefix`. */
	bytesOf(prefix: string): number {
		const { bytes } = this.#sql
			.exec<{ bytes: number | null }>(
				"SELECT sum(length(CAST(text AS BLOB))) AS bytes FROM texts WHERE substr(key, 1, length(?1)) = ?1",
				prefix,
			)
			.one();
		return bytes ?? 0;
	}
}
