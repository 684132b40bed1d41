/** The files of an account, without their bytes. */
import { DeletedPositions } from "../../core/deleted-positions.ts";
import type { Scope } from "../../responses/records.ts";
import type { FileRecord, FilesPage, FilesQuery, FoundJob, NewFile } from "../records.ts";
import { IS_NOT_WAITING, waitingTimes } from "./failed-deletions.ts";

/**
 * A row is inserted before an upload starts, and completed at its end. It dies when the file is deleted or expires, or some time after
 * an upload that did not end. `seq`: the order of creation.
 */
const FILES = `CREATE TABLE IF NOT EXISTS files (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	owner TEXT NOT NULL,
	purpose TEXT NOT NULL DEFAULT '',
	filename TEXT NOT NULL DEFAULT '',
	content_type TEXT NOT NULL DEFAULT '',
	bytes INTEGER NOT NULL DEFAULT 0,
	created_at INTEGER NOT NULL,
	expires_at INTEGER,
	complete INTEGER NOT NULL DEFAULT 0
)`;
const BY_EXPIRY =
	"CREATE INDEX IF NOT EXISTS files_by_expiry ON files (expires_at) WHERE expires_at IS NOT NULL";

/** An upload that takes longer has failed with its process. */
const UPLOAD_MS = 2 * 60 * 60_000;
const EXPIRED_AT_ONCE = 100;

interface FileRow extends Record<string, SqlStorageValue> {
	seq: number;
	id: string;
	owner: string;
	purpose: string;
	filename: string;
	content_type: string;
	bytes: number;
	created_at: number;
	expires_at: number | null;
}

export class FileTable {
	readonly #sql: SqlStorage;
	readonly #deleted: DeletedPositions;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${FILES}; ${BY_EXPIRY}`);
		this.#deleted = new DeletedPositions(sql, "files");
	}

	/** Also uploads under way. */
	usage(): { files: number; fileBytes: number } {
		return this.#sql
			.exec<{ files: number; fileBytes: number }>(
				"SELECT count(*) AS files, coalesce(sum(bytes), 0) AS fileBytes FROM files",
			)
			.one();
	}

	begin({ id, owner, createdAt }: NewFile): void {
		this.#sql.exec(
			"INSERT INTO files (id, owner, created_at, expires_at) VALUES (?, ?, ?, ?)",
			id,
			owner,
			createdAt,
			createdAt + UPLOAD_MS,
		);
	}

	/** Completes a file, or adds a complete one. */
	put({ id, owner, purpose, filename, contentType, bytes, createdAt, expiresAt }: FileRecord): void {
		this.#sql.exec(
			`INSERT INTO files (id, owner, purpose, filename, content_type, bytes, created_at, expires_at, complete)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)
			ON CONFLICT (id) DO UPDATE SET purpose = excluded.purpose, filename = excluded.filename,
				content_type = excluded.content_type, bytes = excluded.bytes, expires_at = excluded.expires_at, complete = 1`,
			...[id, owner, purpose, filename, contentType, bytes, createdAt, expiresAt ?? null],
		);
	}

	find(id: string, { all, owner }: Scope, now: number): FoundJob<FileRecord> {
		const [row] = this.#rows("WHERE id = ? AND complete = 1", id);
		const isKept = row && (row.expires_at ?? Number.POSITIVE_INFINITY) > now;
		if (isKept && (all || row.owner === owner)) return { ok: true, value: recordOf(row) };
		return { ok: false, missing: { kind: "file", id, ...(isKept && { foreign: true }) } };
	}

	/** Hides it from requests. */
	hide(id: string, now: number): void {
		this.#sql.exec("UPDATE files SET expires_at = ? WHERE id = ?", now, id);
	}

	forget(id: string, now: number): void {
		const deleted = this.#sql.exec<{ id: string; seq: number; owner: string }>(
			"DELETE FROM files WHERE id = ? RETURNING id, seq, owner",
			id,
		);
		for (const row of deleted.toArray()) this.#deleted.add(row, now);
	}

	/** `undefined`: there is no file `after` or `before`. */
	page(
		{ limit, order, after, before, purpose, ids }: FilesQuery,
		scope: Scope,
		now: number,
	): FilesPage | undefined {
		const { all, owner } = scope;
		// A page before an id is read backwards from it.
		const isDescending = (order === "desc") !== (before !== undefined);
		const from = after ?? before;
		const position = from === undefined ? null : this.#positionOf(from, scope);
		if (position === undefined) return undefined;
		const rows = this.#rows(
			`WHERE complete = 1 AND (expires_at IS NULL OR expires_at > ?) AND (? OR owner = ?)
			AND (? IS NULL OR purpose = ?) AND (? IS NULL OR id IN (SELECT value FROM json_each(?)))
			AND (? IS NULL OR seq ${isDescending ? "<" : ">"} ?)
			ORDER BY seq ${isDescending ? "DESC" : "ASC"} LIMIT ?`,
			...[now, Number(all), owner],
			...[purpose ?? null, purpose ?? null],
			...(ids ? [JSON.stringify(ids), JSON.stringify(ids)] : [null, null]),
			...[position, position, limit + 1],
		);
		const files = rows.slice(0, limit).map(recordOf);
		return { files: before === undefined ? files : files.reverse(), hasMore: rows.length > limit };
	}

	/** Also of a file that has been deleted or has expired. */
	#positionOf(id: string, scope: Scope): number | undefined {
		const { all, owner } = scope;
		const [row] = this.#rows("WHERE id = ? AND complete = 1 AND (? OR owner = ?)", id, Number(all), owner);
		return row?.seq ?? this.#deleted.get(id, scope);
	}

	/** Some files that have expired, and uploads that did not end. `kept`: ids of files that stay. */
	expired(now: number, kept: readonly string[]): string[] {
		return this.#rows(
			`WHERE expires_at <= ? AND ${IS_NOT_WAITING} AND id NOT IN (SELECT value FROM json_each(?))
			ORDER BY expires_at LIMIT ?`,
			...[now, ...waitingTimes(now), JSON.stringify(kept), EXPIRED_AT_ONCE],
		).map(({ id }) => id);
	}

	/** Without files whose deletion has failed. */
	nextExpiry(now: number): number | undefined {
		const [row] = this.#rows(
			`WHERE expires_at IS NOT NULL AND ${IS_NOT_WAITING} ORDER BY expires_at LIMIT 1`,
			...waitingTimes(now),
		);
		return row?.expires_at ?? undefined;
	}

	#rows(condition: string, ...values: SqlStorageValue[]): FileRow[] {
		return this.#sql.exec<FileRow>(`SELECT * FROM files ${condition}`, ...values).toArray();
	}
}

const recordOf = (row: FileRow): FileRecord => ({
	id: row.id,
	owner: row.owner,
	purpose: row.purpose,
	filename: row.filename,
	contentType: row.content_type,
	bytes: row.bytes,
	createdAt: row.created_at,
	...(row.expires_at !== null && { expiresAt: row.expires_at }),
});
