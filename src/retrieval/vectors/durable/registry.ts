/** The `VectorRegistry` object: the vector indexes of one account, and the bytes of each. */
import { DurableObject } from "cloudflare:workers";
import type { VectorIndexRecord } from "../records.ts";

/** Written by the routes. `bytes` on the disk, and `vectors`: after the last mutation. A row dies when the index is deleted. */
const INDEXES = `CREATE TABLE IF NOT EXISTS indexes (
	name TEXT PRIMARY KEY,
	json TEXT NOT NULL,
	dimensions INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	vectors INTEGER NOT NULL
) WITHOUT ROWID`;
/** Written by the isolates, some seconds after the queries. The row dies with the account. */
const QUERIES = `CREATE TABLE IF NOT EXISTS queries (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	queries INTEGER NOT NULL,
	dimensions INTEGER NOT NULL
)`;
/** Deleted indexes whose vectors are not deleted yet. A row dies when they are. */
const DELETED = `CREATE TABLE IF NOT EXISTS deleted_indexes (
	object TEXT PRIMARY KEY,
	json TEXT NOT NULL,
	next_at INTEGER NOT NULL
) WITHOUT ROWID`;

const RETRY_MS = 30_000;
/** Indexes that one alarm empties. */
const INDEXES_AT_ONCE = 20;

export type Creation = "created" | "exists" | "too-many";

/** The size of an index after a mutation. */
export interface IndexSize {
	/** On the disk. */
	bytes: number;
	vectors: number;
}

/** Queries that an isolate has answered. `dimensions`: the sum of those of their vectors. */
export interface QueryCount {
	queries: number;
	dimensions: number;
}

export interface VectorUsage extends IndexSize {
	indexes: number;
	/** Dimensions of all stored vectors. */
	storedDimensions: number;
	/** Since the account exists. */
	queries: number;
	queriedDimensions: number;
}

export abstract class VectorRegistryObject extends DurableObject {
	readonly #sql: SqlStorage;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(`${INDEXES}; ${DELETED}; ${QUERIES}`);
		this.#sql.exec("INSERT OR IGNORE INTO queries VALUES (1, 0, 0)");
	}

	/** Deletes the vectors of an index. */
	protected abstract drop(record: VectorIndexRecord): Promise<void>;

	create(record: VectorIndexRecord, maxIndexes: number): Creation {
		if (this.get(record.name)) return "exists";
		if (this.usage().indexes >= maxIndexes) return "too-many";
		const { dimensions, name } = record;
		this.#sql.exec("INSERT INTO indexes VALUES (?, ?, ?, 0, 0)", name, JSON.stringify(record), dimensions);
		return "created";
	}

	get(name: string): VectorIndexRecord | undefined {
		const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM indexes WHERE name = ?", name).toArray();
		return row && JSON.parse(row.json);
	}

	list(): VectorIndexRecord[] {
		return this.#sql
			.exec<{ json: string }>("SELECT json FROM indexes ORDER BY name")
			.toArray()
			.map(({ json }) => JSON.parse(json));
	}

	/** Returns the deleted index, whose vectors are deleted later. */
	async delete(name: string): Promise<VectorIndexRecord | undefined> {
		const record = this.get(name);
		if (!record) return undefined;
		const now = Date.now();
		this.#sql.exec("DELETE FROM indexes WHERE name = ?", name);
		await this.#dropLater(record, now);
		return record;
	}

	async #dropLater(record: VectorIndexRecord, now: number): Promise<void> {
		this.#sql.exec(
			"INSERT OR REPLACE INTO deleted_indexes VALUES (?, ?, ?)",
			record.object,
			JSON.stringify(record),
			now,
		);
		await this.ctx.storage.setAlarm(now);
	}

	/** Replaces the record, if its object is still the same. */
	replace(record: VectorIndexRecord, object: string): boolean {
		if (this.get(record.name)?.object !== object) return false;
		this.#sql.exec("UPDATE indexes SET json = ? WHERE name = ?", JSON.stringify(record), record.name);
		return true;
	}

	/** Counts bytes that are going to be written. Returns whether the account has room for them. */
	reserve(name: string, bytes: number, maxBytes: number): boolean {
		if (this.usage().bytes + bytes > maxBytes) return false;
		this.#sql.exec("UPDATE indexes SET bytes = bytes + ? WHERE name = ?", bytes, name);
		return true;
	}

	report(name: string, { bytes, vectors }: IndexSize): void {
		this.#sql.exec("UPDATE indexes SET bytes = ?, vectors = ? WHERE name = ?", bytes, vectors, name);
	}

	countQueries({ dimensions, queries }: QueryCount): void {
		this.#sql.exec(
			"UPDATE queries SET queries = queries + ?, dimensions = dimensions + ?",
			queries,
			dimensions,
		);
	}

	usage(): VectorUsage {
		const stored = this.#sql
			.exec<{ indexes: number; bytes: number; vectors: number; storedDimensions: number }>(
				`SELECT count(*) AS indexes, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(vectors), 0) AS vectors,
				coalesce(sum(vectors * dimensions), 0) AS storedDimensions FROM indexes`,
			)
			.one();
		const queried = this.#sql
			.exec<{ queries: number; queriedDimensions: number }>(
				"SELECT queries, dimensions AS queriedDimensions FROM queries",
			)
			.one();
		return { ...stored, ...queried };
	}

	override async alarm(): Promise<void> {
		const now = Date.now();
		const due = this.#sql
			.exec<{ json: string; object: string }>(
				"SELECT object, json FROM deleted_indexes WHERE next_at <= ? LIMIT ?",
				now,
				INDEXES_AT_ONCE,
			)
			.toArray();
		for (const { json, object } of due) {
			try {
				await this.drop(JSON.parse(json));
				this.#sql.exec("DELETE FROM deleted_indexes WHERE object = ?", object);
			} catch {
				this.#sql.exec("UPDATE deleted_indexes SET next_at = ? WHERE object = ?", now + RETRY_MS, object);
			}
		}
		const { next } = this.#sql
			.exec<{ next: number | null }>("SELECT min(next_at) AS next FROM deleted_indexes")
			.one();
		if (next !== null) await this.ctx.storage.setAlarm(next);
	}
}
