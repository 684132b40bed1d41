/**
 * The ids of all vectors of an index, and the object that has each. A list reads a snapshot: an id that is deleted stays until each list that
 * began before has expired. So a list writes nothing, and works on a full disk.
 */
import { cursorOf, readCursor, SNAPSHOT_MS } from "../cursor.ts";
import type { VectorListQuery, VectorPage } from "../records.ts";

/**
 * Written by mutations. `created`, `deleted`: numbers of mutations; `deleted` is null for a vector that exists. A row dies when the deletion of
 * its vector expires ({@link DELETIONS}), or with the index.
 */
const IDS = `CREATE TABLE IF NOT EXISTS ids (
	id TEXT NOT NULL,
	created INTEGER NOT NULL,
	deleted INTEGER,
	shard INTEGER NOT NULL,
	PRIMARY KEY (id, created)
) WITHOUT ROWID`;
const DELETED = "CREATE INDEX IF NOT EXISTS ids_by_deletion ON ids (deleted) WHERE deleted IS NOT NULL";
/** Written by each mutation that deletes vectors. A row dies when it expires, and with it the ids that the mutation has deleted. */
const DELETIONS = `CREATE TABLE IF NOT EXISTS deletions (
	mutation INTEGER PRIMARY KEY,
	expires_at INTEGER NOT NULL
)`;
const EXPIRY = "CREATE INDEX IF NOT EXISTS deletions_by_expiry ON deletions (expires_at)";
/** Deletions that expire in the same minute expire together at its end, so that one alarm serves all. */
const EXPIRY_STEP_MS = 60_000;

/** Not before the end of a list that begins now. */
const expiryOf = (now: number): number => Math.ceil((now + SNAPSHOT_MS) / EXPIRY_STEP_MS) * EXPIRY_STEP_MS;

interface Listed {
	/** The last one that is visible. */
	mutation: number;
	now: number;
	/** The name of the index's first object. */
	object: string;
}

export class IdTable {
	readonly #sql: SqlStorage;
	/** Vectors of each object. */
	readonly #counts: Map<number, number>;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${IDS}; ${DELETED}; ${DELETIONS}; ${EXPIRY}`);
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
	delete(found: ReadonlyMap<string, number>, { mutation, now }: { mutation: number; now: number }): void {
		if (found.size === 0) return;
		const json = JSON.stringify([...found.keys()]);
		for (const shard of found.values()) this.#counts.set(shard, (this.#counts.get(shard) ?? 0) - 1);
		this.#sql.exec(
			"UPDATE ids SET deleted = ? WHERE deleted IS NULL AND id IN (SELECT value FROM json_each(?))",
			mutation,
			json,
		);
		this.#sql.exec("INSERT OR REPLACE INTO deletions VALUES (?, ?)", mutation, expiryOf(now));
	}

	/** Throws 40027 for the cursor of another index, or of a snapshot that has expired. */
	list({ count, cursor }: VectorListQuery, { mutation, now, object }: Listed): VectorPage {
		const { after, expiresAt, snapshot } =
			cursor === undefined
				? { after: "", snapshot: mutation, expiresAt: now + SNAPSHOT_MS }
				: readCursor(cursor, { object, now });
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
		const next = { cursor: cursorOf({ snapshot, expiresAt, object, after: page.at(-1) ?? "" }), expiresAt };
		return { ids: page, totalCount, next };
	}

	nextExpiry(): number | undefined {
		const [row] = this.#sql
			.exec<{ at: number | null }>("SELECT min(expires_at) AS at FROM deletions")
			.toArray();
		return row?.at ?? undefined;
	}

	deleteExpired(now: number): void {
		this.#sql.exec(
			"DELETE FROM ids WHERE deleted IN (SELECT mutation FROM deletions WHERE expires_at <= ?)",
			now,
		);
		this.#sql.exec("DELETE FROM deletions WHERE expires_at <= ?", now);
	}
}
