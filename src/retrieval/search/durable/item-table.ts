/** The items of an instance, and the vectors that were planned for them. */
import type { FilterCondition } from "../../vectors/records.ts";
import { matchesFilter } from "../filters.ts";
import type {
	IndexedMetadata,
	InstanceStats,
	ItemQuery,
	ItemStatus,
	NewItem,
	Page,
	SearchItem,
	VectorPlan,
} from "../records.ts";
import { ITEM_STATUSES } from "../records.ts";
import { ITEMS, type ItemColumns, type ItemFields, itemOf } from "./item-row.ts";

/** Written before the vectors. A row dies when they are deleted. */
const PLANS = `CREATE TABLE IF NOT EXISTS plans (
	item TEXT NOT NULL,
	revision INTEGER NOT NULL,
	index_version INTEGER NOT NULL,
	chunks INTEGER NOT NULL,
	PRIMARY KEY (item, revision, index_version)
) WITHOUT ROWID`;

/** For the list by status. */
const STATUS_ORDER = "CASE status WHEN 'running' THEN 0 WHEN 'queued' THEN 1 WHEN 'error' THEN 2 ELSE 3 END";
/** In LIKE, with the escape character \\. */
const likeText = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&")}%`;

export class ItemTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${ITEMS}; ${PLANS}`);
	}

	get(id: string): SearchItem | undefined {
		return this.#rows("WHERE id = ?", id)[0];
	}

	byKey(key: string): SearchItem | undefined {
		return this.#rows("WHERE key = ?", key)[0];
	}

	/** With the credential of who has uploaded it. */
	stored(id: string): ItemFields | undefined {
		const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM items WHERE id = ?", id).toArray();
		return row && JSON.parse(row.json);
	}

	get count(): number {
		return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM items").one().count;
	}

	/** Inserts the item, or replaces the bytes of the one with its key. It is queued, or has the error. */
	put(
		id: string,
		{ key, ...fields }: NewItem,
		now: number,
		{ error, job }: { error?: string; job?: string } = {},
	): SearchItem {
		this.#sql.exec(
			`INSERT INTO items (id, key, status, revision, json, bytes, created_at, seen_at, modified_at, error, job) VALUES (?1, ?2, ?6, 1, ?3, ?4, ?5, ?5, ?5, ?7, ?8)
			ON CONFLICT (key) DO UPDATE SET status = ?6, revision = revision + 1, json = ?3, bytes = ?4, seen_at = ?5, modified_at = ?5, error = ?7, job = ?8`,
			id,
			key,
			JSON.stringify(fields),
			fields.bytes,
			now,
			error === undefined ? "queued" : "error",
			error ?? null,
			job ?? null,
		);
		const item = this.byKey(key);
		if (!item) throw new Error("the item was not stored");
		return item;
	}

	/** Queues an item again. `indexed`: its values by the current fields. */
	requeue(id: string, { indexed, job, now }: { indexed?: IndexedMetadata; job?: string; now: number }): void {
		const stored = this.stored(id);
		if (!stored) return;
		this.#sql.exec(
			"UPDATE items SET status = 'queued', revision = revision + 1, error = NULL, seen_at = ?, job = coalesce(?, job), json = ? WHERE id = ?",
			now,
			job ?? null,
			JSON.stringify({ ...stored, ...(indexed && { indexed }) }),
			id,
		);
	}

	/** Ends or starts a run, if the revision is the current one. Returns whether it is. */
	change(
		{ id, revision }: { id: string; revision: number },
		{ chunks, error, now, status }: { status: ItemStatus; now: number; chunks?: number; error?: string },
	): boolean {
		return (
			this.#sql.exec(
				"UPDATE items SET status = ?, seen_at = ?, chunks = coalesce(?, chunks), error = ? WHERE id = ? AND revision = ?",
				status,
				now,
				chunks ?? null,
				error ?? null,
				id,
				revision,
			).rowsWritten > 0
		);
	}

	/** Items of the job that have not begun do not run. What was indexed of them before stays. Returns their number. */
	cancel(job: string, now: number): number {
		return this.#sql
			.exec(
				"UPDATE items SET status = iif(chunks IS NULL, 'skipped', 'outdated'), seen_at = ? WHERE job = ? AND status = 'queued' RETURNING id",
				now,
				job,
			)
			.toArray().length;
	}

	/** Those that a cancelled job has left. */
	cancelled(): string[] {
		return this.#sql
			.exec<{ id: string }>("SELECT id FROM items WHERE status IN ('skipped', 'outdated')")
			.toArray()
			.map(({ id }) => id);
	}

	seen(id: string, now: number): void {
		this.#sql.exec("UPDATE items SET seen_at = ? WHERE id = ?", now, id);
	}

	/** Whether items of the job have not ended. */
	hasOpen(job: string): boolean {
		const found = "SELECT 1 FROM items WHERE job = ? AND status IN ('queued', 'running') LIMIT 1";
		return this.#sql.exec(found, job).toArray().length > 0;
	}

	delete(id: string): void {
		this.#sql.exec("DELETE FROM items WHERE id = ?", id);
	}

	/** Those that wait for their run, or whose run has not ended. */
	open(limit: number): { id: string; revision: number }[] {
		return this.#sql
			.exec<{ id: string; revision: number }>(
				"SELECT id, revision FROM items WHERE status IN ('queued', 'running') LIMIT ?",
				limit,
			)
			.toArray();
	}

	ids(): string[] {
		return this.#sql
			.exec<{ id: string }>("SELECT id FROM items ORDER BY key")
			.toArray()
			.map(({ id }) => id);
	}

	/** The job of an item, and whether it has other items that have not ended. */
	jobOf(id: string): { job: string; isLast: boolean } | undefined {
		const [row] = this.#sql
			.exec<{ job: string; open: number }>(
				`SELECT job, (SELECT count(*) FROM items AS other WHERE other.job = items.job AND other.status IN ('queued', 'running')) AS open
				FROM items WHERE id = ? AND job IS NOT NULL`,
				id,
			)
			.toArray();
		return row && { job: row.job, isLast: row.open === 0 };
	}

	list({ filter, id, key, page, perPage, search, sortBy, source, status }: ItemQuery): Page<SearchItem> {
		const conditions: [string, string][] = [];
		if (status !== undefined) conditions.push(["status = ?", status]);
		if (key !== undefined) conditions.push(["key = ?", key]);
		if (source !== undefined)
			conditions.push(["coalesce(json_extract(json, '$.source'), 'builtin') = ?", source]);
		if (id !== undefined) conditions.push(["id = ?", id]);
		if (search !== undefined) conditions.push(["key LIKE ? ESCAPE '\\'", likeText(search)]);
		const where = conditions.length > 0 ? `WHERE ${conditions.map(([text]) => text).join(" AND ")}` : "";
		const values = conditions.map(([, value]) => value);
		const order = sortBy === "modified_at" ? "modified_at DESC, key" : `${STATUS_ORDER}, seen_at DESC, key`;
		const start = (page - 1) * perPage;
		if (filter)
			return this.#filtered(`${where} ORDER BY ${order}`, values, { filter, start, end: start + perPage });
		const { total } = this.#sql
			.exec<{ total: number }>(`SELECT count(*) AS total FROM items ${where}`, ...values)
			.one();
		const rows = this.#rows(`${where} ORDER BY ${order} LIMIT ? OFFSET ?`, ...values, perPage, start);
		return { values: rows, total };
	}

	#filtered(
		condition: string,
		values: readonly string[],
		{ end, filter, start }: { filter: readonly FilterCondition[]; start: number; end: number },
	): Page<SearchItem> {
		const shown: SearchItem[] = [];
		let total = 0;
		for (const row of this.#sql.exec<ItemColumns>(`SELECT * FROM items ${condition}`, ...values)) {
			const item = itemOf(row);
			if (!matchesFilter(item.indexed, filter)) continue;
			if (total >= start && total < end) shown.push(item);
			total++;
		}
		return { values: shown, total };
	}

	stats(): Omit<InstanceStats, "chunks"> {
		const counts = Object.fromEntries(ITEM_STATUSES.map((status) => [status, 0])) as InstanceStats["counts"];
		for (const { items, status } of this.#sql.exec<{ status: ItemStatus; items: number }>(
			"SELECT status, count(*) AS items FROM items GROUP BY status",
		))
			counts[status] = items;
		const sums = this.#sql
			.exec<{ fileBytes: number; metadataBytes: number; last: number | null }>(
				"SELECT coalesce(sum(bytes), 0) AS fileBytes, coalesce(sum(length(json)), 0) AS metadataBytes, max(seen_at) AS last FROM items",
			)
			.one();
		const errors = this.#sql
			.exec<{ error: string; items: number }>(
				"SELECT error, count(*) AS items FROM items WHERE error IS NOT NULL GROUP BY error LIMIT 100",
			)
			.toArray();
		return {
			counts,
			fileBytes: sums.fileBytes,
			metadataBytes: sums.metadataBytes,
			...(sums.last !== null && { lastActivity: sums.last }),
			errors: Object.fromEntries(errors.map(({ error, items }) => [error, items])),
		};
	}

	addPlan({ chunks, indexVersion, item, revision }: VectorPlan): void {
		this.#sql.exec("INSERT OR REPLACE INTO plans VALUES (?, ?, ?, ?)", item, revision, indexVersion, chunks);
	}

	/** Whether the item has plans of earlier revisions. */
	hasEarlierPlans({ id, revision }: { id: string; revision: number }): boolean {
		const found = "SELECT 1 FROM plans WHERE item = ? AND revision < ? LIMIT 1";
		return this.#sql.exec(found, id, revision).toArray().length > 0;
	}

	/** Plans of deleted items, and of other revisions than the current one. */
	stalePlans(limit: number): VectorPlan[] {
		return this.#sql
			.exec<{ item: string; revision: number; index_version: number; chunks: number }>(
				`SELECT plans.* FROM plans LEFT JOIN items ON items.id = plans.item
				WHERE items.id IS NULL OR (plans.revision < items.revision AND items.status = 'completed') LIMIT ?`,
				limit,
			)
			.toArray()
			.map(({ index_version: indexVersion, ...plan }) => ({ ...plan, indexVersion }));
	}

	deletePlan({ indexVersion, item, revision }: VectorPlan): void {
		this.#sql.exec(
			"DELETE FROM plans WHERE item = ? AND revision = ? AND index_version = ?",
			item,
			revision,
			indexVersion,
		);
	}

	#rows(condition: string, ...values: (string | number)[]): SearchItem[] {
		return this.#sql
			.exec<ItemColumns>(`SELECT * FROM items ${condition}`, ...values)
			.toArray()
			.map(itemOf);
	}
}
