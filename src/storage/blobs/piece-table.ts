/** Bytes in rows of an object's SQLite database, because a row has at most 2 MB. */

import { release } from "../../media/bytes.ts";

/**
 * Written by `write`; deleted with their content. Not without a rowid: a search by the key would then read each row that it compares whole, a
 * megabyte with its overflow pages. Tables of an earlier version are so, and work in the same way.
 */
const PIECES = `CREATE TABLE IF NOT EXISTS pieces (
	content INTEGER NOT NULL,
	piece INTEGER NOT NULL,
	bytes BLOB NOT NULL,
	PRIMARY KEY (content, piece)
)`;

/** Each piece of a content has this size, except the last one. */
export const PIECE_BYTES = 1024 * 1024;

export class PieceTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(PIECES);
	}

	/** The largest number of a content. 0 if there is none. */
	lastContent(): number {
		return this.#sql.exec<{ last: number | null }>("SELECT max(content) AS last FROM pieces").one().last ?? 0;
	}

	write(content: number, piece: number, bytes: Uint8Array): void {
		this.#sql.exec("INSERT INTO pieces VALUES (?, ?, ?)", content, piece, bytes);
	}

	/** Writes bytes that the call of an object has copied, and frees them. */
	take(content: number, piece: number, bytes: Uint8Array): void {
		this.write(content, piece, bytes);
		release(bytes);
	}

	read(content: number, piece: number): Uint8Array | undefined {
		const row = this.#sql
			.exec<{ bytes: ArrayBuffer }>(
				"SELECT bytes FROM pieces WHERE content = ? AND piece = ?",
				content,
				piece,
			)
			.toArray()[0];
		return row && new Uint8Array(row.bytes);
	}

	/** Deletes the last pieces of a content, at most `limit`. @returns whether none remains. */
	delete(content: number, limit: number): boolean {
		this.#sql.exec(
			`DELETE FROM pieces WHERE content = ?1 AND piece IN (
				SELECT piece FROM pieces WHERE content = ?1 ORDER BY piece DESC LIMIT ?2
			)`,
			content,
			limit,
		);
		const found = "SELECT 1 FROM pieces WHERE content = ? LIMIT 1";
		return this.#sql.exec(found, content).toArray().length === 0;
	}
}
