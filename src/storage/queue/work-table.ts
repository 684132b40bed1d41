/** The rows of the queue. */
import type { NewWork, WorkId, WorkPage, WorkQuery, WorkState, WorkStatus } from "./work.ts";

/**
 * Written by `insert`, and at the start and the end of each run. Deleted when the item is complete or cancelled; a dead one when
 * its retention ends. `failed_runs`: calls of `failed` that did not succeed; NULL before the last attempt has failed.
 */
const ITEMS = `CREATE TABLE IF NOT EXISTS items (
	id INTEGER PRIMARY KEY,
	account TEXT NOT NULL,
	kind TEXT NOT NULL,
	key TEXT NOT NULL,
	payload TEXT,
	state TEXT NOT NULL DEFAULT 'queued',
	created_at INTEGER NOT NULL,
	start_at INTEGER NOT NULL,
	attempts INTEGER NOT NULL DEFAULT 0,
	interruptions INTEGER NOT NULL DEFAULT 0,
	failed_runs INTEGER,
	progress TEXT,
	error TEXT,
	cancelled INTEGER NOT NULL DEFAULT 0,
	UNIQUE (account, kind, key)
)`;
const BY_STATE = "CREATE INDEX IF NOT EXISTS items_by_state ON items (state, account, kind, start_at, id)";
/** The last fence. One row. */
const FENCE = `CREATE TABLE IF NOT EXISTS fence (id INTEGER PRIMARY KEY CHECK (id = 0), fence INTEGER NOT NULL);
INSERT OR IGNORE INTO fence VALUES (0, 0)`;

export interface WorkRow extends WorkId {
	id: number;
	/** JSON. */
	payload: string | null;
	state: WorkState;
	createdAt: number;
	startAt: number;
	attempts: number;
	interruptions: number;
	/** See {@link ITEMS}. */
	failedRuns: number | null;
	progress: string | null;
	error: string | null;
	cancelled: boolean;
}

type Columns = Omit<WorkRow, "createdAt" | "startAt" | "failedRuns" | "cancelled"> & {
	created_at: number;
	start_at: number;
	failed_runs: number | null;
	cancelled: number;
};

export interface LaneCount extends LaneKey {
	state: WorkState;
	items: number;
	/** The earliest `startAt`. */
	firstAt: number;
}

const rowOf = ({ created_at, start_at, failed_runs, cancelled, ...same }: Columns): WorkRow => ({
	...same,
	createdAt: created_at,
	startAt: start_at,
	failedRuns: failed_runs,
	cancelled: cancelled === 1,
});

export const statusOf = (row: WorkRow): WorkStatus => ({
	account: row.account,
	kind: row.kind,
	key: row.key,
	state: row.state,
	createdAt: row.createdAt,
	startAt: row.startAt,
	attempts: row.attempts,
	interruptions: row.interruptions,
	...(row.progress !== null && { progress: JSON.parse(row.progress) as unknown }),
	...(row.error !== null && { error: row.error }),
	...(row.cancelled && { cancelled: true }),
});

export class WorkTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${ITEMS}; ${BY_STATE}; ${FENCE}`);
	}

	/** @returns whether the item is new. */
	insert({ account, kind, key, payload, startAt }: NewWork, now: number): boolean {
		const { rowsWritten } = this.#sql.exec(
			`INSERT INTO items (account, kind, key, payload, created_at, start_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING`,
			account,
			kind,
			key,
			payload === undefined ? null : JSON.stringify(payload),
			now,
			startAt ?? now,
		);
		return rowsWritten > 0;
	}

	find({ account, kind, key }: WorkId): WorkRow | undefined {
		return this.#rows("WHERE account = ? AND kind = ? AND key = ?", account, kind, key)[0];
	}

	/** The first queued item of a lane. */
	first(account: string, kind: string): WorkRow | undefined {
		return this.#rows(
			"WHERE state = 'queued' AND account = ? AND kind = ? ORDER BY start_at, id LIMIT 1",
			account,
			kind,
		)[0];
	}

	/** The item runs. @returns its fence. */
	take(id: number): number {
		this.#sql.exec("UPDATE items SET state = 'running' WHERE id = ?", id);
		return this.#sql.exec<{ fence: number }>("UPDATE fence SET fence = fence + 1 RETURNING fence").one()
			.fence;
	}

	/** Runs of processes that have ended. */
	running(): WorkRow[] {
		return this.#rows("WHERE state = 'running'");
	}

	/** Writes what a run has changed. */
	update(row: WorkRow): void {
		this.#sql.exec(
			`UPDATE items SET state = ?, start_at = ?, attempts = ?, interruptions = ?, failed_runs = ?, progress = ?,
			error = ?, cancelled = ? WHERE id = ?`,
			...[row.state, row.startAt, row.attempts, row.interruptions, row.failedRuns],
			...[row.progress, row.error, Number(row.cancelled), row.id],
		);
	}

	delete(id: number): void {
		this.#sql.exec("DELETE FROM items WHERE id = ?", id);
	}

	/** Deletes the items with the prefix that do not run. @returns their numbers. */
	deleteIdle({ account, kind, prefix }: LaneKey & { prefix: string }): { waiting: number; dead: number } {
		const states = this.#sql
			.exec<{ state: WorkState }>(
				`DELETE FROM items WHERE account = ?1 AND kind = ?2 AND key >= ?3 AND key < ?3 || char(1114111) AND substr(key, 1, length(?3)) = ?3
				AND state <> 'running' RETURNING state`,
				account,
				kind,
				prefix,
			)
			.toArray();
		const dead = states.filter(({ state }) => state === "dead").length;
		return { waiting: states.length - dead, dead };
	}

	list({ account, kind, state, after = 0, limit }: WorkQuery & { limit: number }): WorkPage {
		const rows = this.#rows(
			"WHERE account = ?1 AND (?2 IS NULL OR kind = ?2) AND (?3 IS NULL OR state = ?3) AND id > ?4 ORDER BY id LIMIT ?5",
			account,
			kind ?? null,
			state ?? null,
			after,
			limit + 1,
		);
		const last = rows[limit - 1];
		return {
			items: rows.slice(0, limit).map(statusOf),
			...(rows.length > limit && last && { after: last.id }),
		};
	}

	counts(): LaneCount[] {
		return this.#sql
			.exec<LaneCount & Record<string, SqlStorageValue>>(
				`SELECT account, kind, state, count(*) AS items, min(start_at) AS firstAt FROM items GROUP BY state, account, kind`,
			)
			.toArray();
	}

	/** Deletes dead items that are older. @returns them. */
	deleteDead(before: number): LaneKey[] {
		return this.#sql
			.exec<LaneKey & Record<string, SqlStorageValue>>(
				"DELETE FROM items WHERE state = 'dead' AND start_at <= ? RETURNING account, kind",
				before,
			)
			.toArray();
	}

	#rows(condition: string, ...values: SqlStorageValue[]): WorkRow[] {
		return this.#sql
			.exec<Columns>(`SELECT * FROM items ${condition}`, ...values)
			.toArray()
			.map(rowOf);
	}
}

export interface LaneKey {
	account: string;
	kind: string;
}
