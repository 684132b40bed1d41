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

/** Of one call that writes. A content that an earlier version has written has a row for each. */
export const PIECE_BYTES = 1024 * 1024;
/** Each row of a content has this size, except the last one. A reader that stalls holds one. */
export const ROW_BYTES = 64 * 1024;
const PIECE_ROWS = PIECE_BYTES / ROW_BYTES;

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

	/** `piece`: each one before has `PIECE_BYTES`. */
	write(content: number, piece: number, bytes: Uint8Array): void {
		let row = piece * PIECE_ROWS;
		let at = 0;
		do {
			const part = bytes.subarray(at, at + ROW_BYTES);
			this.#sql.exec("INSERT INTO pieces VALUES (?, ?, ?)", content, row++, part);
			at += ROW_BYTES;
		} while (at < bytes.length);
	}

	/** Writes bytes that the call of an object has copied, and frees them. */
	take(content: number, piece: number, bytes: Uint8Array): void {
		this.write(content, piece, bytes);
		release(bytes);
	}

	/** The first bytes of a part: at most those of one row. `undefined`: the content was deleted. */
	read(content: number, offset: number, end: number): Uint8Array | undefined {
		const rowBytes = this.#rowBytes(content);
		const row = Math.floor(offset / rowBytes);
		const found = this.#sql
			.exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM pieces WHERE content = ? AND piece = ?", content, row)
			.toArray()[0];
		if (!found) return undefined;
		const bytes = new Uint8Array(found.bytes);
		const from = offset - row * rowBytes;
		const to = Math.min(end - row * rowBytes, from + ROW_BYTES);
		// A call copies the whole buffer of a part. A whole row needs no copy before.
		return from === 0 && to >= bytes.length ? bytes : bytes.slice(from, to);
	}

	#rowBytes(content: number): number {
		const first = "SELECT length(bytes) AS length FROM pieces WHERE content = ? AND piece = 0";
		const { length = 0 } = this.#sql.exec<{ length: number }>(first, content).toArray()[0] ?? {};
		return length > ROW_BYTES ? PIECE_BYTES : ROW_BYTES;
	}

	/** Deletes the last rows of a content, at most `limit`. @returns whether none remains. */
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
