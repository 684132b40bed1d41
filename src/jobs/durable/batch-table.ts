/** The batches of an account, without their lines. */
import { DeletedPositions } from "../../core/deleted-positions.ts";
import type { Scope } from "../../responses/records.ts";
import {
	type BatchApi,
	type BatchesPage,
	type BatchesQuery,
	type BatchRecord,
	type BatchRequest,
	hasEnded,
} from "../batches/records.ts";
import type { FoundJob } from "../records.ts";
import { IS_NOT_WAITING, waitingTimes } from "./failed-deletions.ts";

/**
 * Written when a batch is created, and with each commit of its lines. It dies some time after its end, or when it is deleted. `seq`:
 * the order of creation. `record`, `request`: JSON. `fence`: that of the latest run, of the queue. `kept_until`: 0 before the end.
 */
const BATCHES = `CREATE TABLE IF NOT EXISTS batches (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL UNIQUE,
	owner TEXT NOT NULL,
	api TEXT NOT NULL,
	record TEXT NOT NULL,
	request TEXT NOT NULL,
	fence INTEGER NOT NULL DEFAULT 0,
	kept_until INTEGER NOT NULL DEFAULT 0
)`;
const BY_END = "CREATE INDEX IF NOT EXISTS batches_by_end ON batches (kept_until)";

/** As results of Anthropic's API. */
const KEPT_MS = 29 * 24 * 60 * 60_000;
const EXPIRED_AT_ONCE = 20;
/** With a parameter: the time. */
const KEPT = "(kept_until = 0 OR kept_until > ?)";

interface BatchRow extends Record<string, SqlStorageValue> {
	seq: number;
	record: string;
	request: string;
	owner: string;
	fence: number;
}

/** Each API has its own list. */
const deletedId = (api: string, id: string): string => `${api}/${id}`;

export class BatchTable {
	readonly #sql: SqlStorage;
	readonly #deleted: DeletedPositions;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${BATCHES}; ${BY_END}`);
		this.#deleted = new DeletedPositions(sql, "batches");
	}

	insert(record: BatchRecord, request: BatchRequest): void {
		this.#sql.exec(
			"INSERT INTO batches (id, owner, api, record, request) VALUES (?, ?, ?, ?, ?)",
			...[record.id, record.owner, record.api, JSON.stringify(record), JSON.stringify(request)],
		);
	}

	/** A batch that has ended or is hidden stays as it is, whatever its runs still write. */
	write(record: BatchRecord): void {
		this.#sql.exec(
			"UPDATE batches SET record = ?, kept_until = ? WHERE id = ? AND kept_until = 0",
			JSON.stringify(record),
			hasEnded(record) ? (record.endedAt ?? record.createdAt) + KEPT_MS : 0,
			record.id,
		);
	}

	get(id: string): BatchRecord | undefined {
		return this.#rows("WHERE id = ?", id).map(recordOf)[0];
	}

	find(id: string, api: BatchApi, { all, owner }: Scope, now: number): FoundJob<BatchRecord> {
		const [row] = this.#rows(`WHERE id = ? AND api = ? AND ${KEPT}`, id, api, now);
		if (row && (all || row.owner === owner)) return { ok: true, value: recordOf(row) };
		return { ok: false, missing: { kind: "batch", id, ...(row && { foreign: true }) } };
	}

	/** Takes the batch over for a run. `undefined`: a later run has it. */
	take(id: string, fence: number): BatchRequest | undefined {
		const [row] = this.#rows("WHERE id = ? AND fence <= ?", id, fence);
		if (!row) return undefined;
		this.#sql.exec("UPDATE batches SET fence = ? WHERE id = ?", fence, id);
		return JSON.parse(row.request) as BatchRequest;
	}

	/** The batch, if the run with this fence still has it. */
	ofRun(id: string, fence: number): BatchRecord | undefined {
		return this.#rows("WHERE id = ? AND fence = ?", id, fence).map(recordOf)[0];
	}

	open(): BatchRecord[] {
		return this.#rows("WHERE kept_until = 0 ORDER BY seq").map(recordOf);
	}

	count(api: BatchApi): number {
		return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM batches WHERE api = ?", api).one()
			.count;
	}

	/** `undefined`: there is no batch `after` or `before`. */
	page({ api, limit, after, before }: BatchesQuery, scope: Scope, now: number): BatchesPage | undefined {
		const from = after ?? before;
		const visible = "api = ? AND (? OR owner = ?)";
		const own = [api, Number(scope.all), scope.owner] as const;
		const [found] = from === undefined ? [] : this.#rows(`WHERE ${visible} AND id = ?`, ...own, from);
		const position =
			from === undefined ? null : (found?.seq ?? this.#deleted.get(deletedId(api, from), scope));
		if (position === undefined) return undefined;
		const rows = this.#rows(
			`WHERE ${visible} AND ${KEPT} AND (? IS NULL OR seq ${before === undefined ? "<" : ">"} ?)
			ORDER BY seq ${before === undefined ? "DESC" : "ASC"} LIMIT ?`,
			...[...own, now, position, position, limit + 1],
		);
		const batches = rows.slice(0, limit).map(recordOf);
		return { batches: before === undefined ? batches : batches.reverse(), hasMore: rows.length > limit };
	}

	/** Hides it from requests. */
	hide(id: string, now: number): void {
		this.#sql.exec("UPDATE batches SET kept_until = ? WHERE id = ?", now, id);
	}

	forget(id: string, now: number): void {
		const deleted = this.#sql.exec<{ api: string; seq: number; owner: string }>(
			"DELETE FROM batches WHERE id = ? RETURNING api, seq, owner",
			id,
		);
		for (const { api, ...row } of deleted.toArray())
			this.#deleted.add({ ...row, id: deletedId(api, id) }, now);
	}

	/** Some batches whose time is over. */
	expired(now: number): BatchRecord[] {
		return this.#rows(
			`WHERE kept_until > 0 AND kept_until <= ? AND ${IS_NOT_WAITING} ORDER BY kept_until LIMIT ?`,
			...[now, ...waitingTimes(now), EXPIRED_AT_ONCE],
		).map(recordOf);
	}

	/** Without batches whose deletion has failed. */
	nextExpiry(now: number): number | undefined {
		return this.#sql
			.exec<{ next: number }>(
				`SELECT kept_until AS next FROM batches WHERE kept_until > 0 AND ${IS_NOT_WAITING} ORDER BY kept_until LIMIT 1`,
				...waitingTimes(now),
			)
			.toArray()[0]?.next;
	}

	#rows(condition: string, ...values: SqlStorageValue[]): BatchRow[] {
		return this.#sql
			.exec<BatchRow>(`SELECT seq, record, request, owner, fence FROM batches ${condition}`, ...values)
			.toArray();
	}
}

const recordOf = ({ record }: BatchRow): BatchRecord => JSON.parse(record) as BatchRecord;
