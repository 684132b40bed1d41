/**
 * The ids of all vectors of an index, and the object that has each. A list reads a snapshot: ids that were deleted since then stay until it
 * expires.
 */
import { cursorOf, type ListPosition, readCursor, SNAPSHOT_MS } from "../cursor.ts";
import { cursorInvalid } from "../failures.ts";
import type { VectorListQuery, VectorPage } from "../records.ts";

/**
 * Written by mutations. `created`, `deleted`: numbers of mutations; `deleted` is null for a vector that exists. A row dies when its vector is
 * deleted and no snapshot has it, or with the index.
 */
const IDS = `CREATE TABLE IF NOT EXISTS ids (
	id TEXT NOT NULL,
	created INTEGER NOT NULL,
	deleted INTEGER,
	shard INTEGER NOT NULL,
	PRIMARY KEY (id, created)
) WITHOUT ROWID`;
const DELETED = "CREATE INDEX IF NOT EXISTS ids_by_deletion ON ids (deleted) WHERE deleted IS NOT NULL";
/** Written by the first page of a list that has further ones. A row dies when it expires. `mutation`: the last one that it contains. */
const SNAPSHOTS = `CREATE TABLE IF NOT EXISTS snapshots (
	mutation INTEGER PRIMARY KEY,
	expires_at INTEGER NOT NULL
)`;

export class IdTable {
	readonly #sql: SqlStorage;
	/** Vectors of each object. */
	readonly #counts: Map<number, number>;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${IDS}; ${DELETED}; ${SNAPSHOTS}`);
		this.#counts = this.#readCounts();
	}

	get counts(): ReadonlyMap<number, number> {
		return this.#counts;
	}

	get count(): number {
		return [...this.#counts.values()].reduce((sum, vectors) => sum + vectors, 0);
	}

	/** The objects of the vectors that exist. */
	shardsOf(ids: readonly string[]): Map<string, number> {
		const rows = this.#sql
			.exec<{ id: string; shard: number }>(
				"SELECT id, shard FROM ids WHERE deleted IS NULL AND id IN (SELECT value FROM json_each(?))",
				JSON.stringify(ids),
			)
			.toArray();
		return new Map(rows.map(({ id, shard }) => [id, shard]));
	}

	#readCounts(): Map<number, number> {
		const rows = this.#sql
			.exec<{ shard: number; vectors: number }>(
				"SELECT shard, count(*) AS vectors FROM ids WHERE deleted IS NULL GROUP BY shard",
			)
			.toArray();
		return new Map(rows.map(({ shard, vectors }) => [shard, vectors]));
	}

	insert(id: string, shard: number, mutation: number): void {
		this.#sql.exec("INSERT OR REPLACE INTO ids VALUES (?, ?, NULL, ?)", id, mutation, shard);
		this.#counts.set(shard, (this.#counts.get(shard) ?? 0) + 1);
	}

	/** `found`: ids that exist, with their objects. */
	delete(found: ReadonlyMap<string, number>, mutation: number): void {
		const json = JSON.stringify([...found.keys()]);
		for (const shard of found.values()) this.#counts.set(shard, (this.#counts.get(shard) ?? 0) - 1);
		if (this.#hasSnapshots())
			this.#sql.exec(
				"UPDATE ids SET deleted = ? WHERE deleted IS NULL AND id IN (SELECT value FROM json_each(?))",
				mutation,
				json,
			);
		else
			this.#sql.exec(
				"DELETE FROM ids WHERE deleted IS NULL AND id IN (SELECT value FROM json_each(?))",
				json,
			);
	}

	#hasSnapshots(): boolean {
		return this.#sql.exec("SELECT 1 FROM snapshots LIMIT 1").toArray().length > 0;
	}

	/** `mutation`: the last one that is visible. Throws 40027 for a cursor whose snapshot has expired. */
	list({ count, cursor }: VectorListQuery, { mutation, now }: { mutation: number; now: number }): VectorPage {
		const { after, snapshot } = cursor === undefined ? { after: "", snapshot: mutation } : this.#open(cursor);
		const visible = "created <= ? AND (deleted IS NULL OR deleted > ?)";
		const ids = this.#sql
			.exec<{ id: string }>(
				`SELECT id FROM ids WHERE id > ? AND ${visible} ORDER BY id LIMIT ?`,
				after,
				snapshot,
				snapshot,
				count + 1,
			)
			.toArray()
			.map(({ id }) => id);
		const { total: totalCount } = this.#sql
			.exec<{ total: number }>(`SELECT count(*) AS total FROM ids WHERE ${visible}`, snapshot, snapshot)
			.one();
		const isTruncated = ids.length > count;
		const page = ids.slice(0, count);
		if (!isTruncated) return { ids: page, totalCount };
		const expiresAt = this.#keep(snapshot, now);
		return {
			ids: page,
			totalCount,
			next: { cursor: cursorOf({ snapshot, after: page.at(-1) ?? "" }), expiresAt },
		};
	}

	#keep(snapshot: number, now: number): number {
		const { expires_at } = this.#sql
			.exec<{ expires_at: number }>(
				"INSERT INTO snapshots VALUES (?, ?) ON CONFLICT (mutation) DO UPDATE SET mutation = mutation RETURNING expires_at",
				snapshot,
				now + SNAPSHOT_MS,
			)
			.one();
		return expires_at;
	}

	#open(cursor: string): ListPosition {
		const position = readCursor(cursor);
		const known = this.#sql.exec("SELECT 1 FROM snapshots WHERE mutation = ?", position.snapshot).toArray();
		if (known.length === 0) throw cursorInvalid();
		return position;
	}

	nextExpiry(): number | undefined {
		const [row] = this.#sql
			.exec<{ at: number | null }>("SELECT min(expires_at) AS at FROM snapshots")
			.toArray();
		return row?.at ?? undefined;
	}

	deleteExpired(now: number): void {
		this.#sql.exec("DELETE FROM snapshots WHERE expires_at <= ?", now);
		const oldest = this.#sql
			.exec<{ mutation: number | null }>("SELECT min(mutation) AS mutation FROM snapshots")
			.one().mutation;
		if (oldest === null) this.#sql.exec("DELETE FROM ids WHERE deleted IS NOT NULL");
		else this.#sql.exec("DELETE FROM ids WHERE deleted <= ?", oldest);
	}
}
