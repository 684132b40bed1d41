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
/** Objects of deleted indexes. A row dies when the object is empty. */
const DELETED = `CREATE TABLE IF NOT EXISTS deleted (
	object TEXT PRIMARY KEY,
	next_at INTEGER NOT NULL
) WITHOUT ROWID`;

const RETRY_MS = 30_000;
/** Objects that the alarm empties at once. */
const OBJECTS_AT_ONCE = 20;

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

	/** Empties the object of an index. */
	protected abstract drop(object: string): Promise<void>;

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

	/** Returns the deleted index, whose objects are emptied later. */
	async delete(name: string): Promise<VectorIndexRecord | undefined> {
		const record = this.get(name);
		if (!record) return undefined;
		const now = Date.now();
		this.#sql.exec("DELETE FROM indexes WHERE name = ?", name);
		this.#sql.exec("INSERT OR REPLACE INTO deleted VALUES (?, ?)", record.object, now);
		await this.ctx.storage.setAlarm(now);
		return record;
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
			.exec<{ object: string }>("SELECT object FROM deleted WHERE next_at <= ? LIMIT ?", now, OBJECTS_AT_ONCE)
			.toArray();
		for (const { object } of due) {
			try {
				await this.drop(object);
				this.#sql.exec("DELETE FROM deleted WHERE object = ?", object);
			} catch {
				this.#sql.exec("UPDATE deleted SET next_at = ? WHERE object = ?", now + RETRY_MS, object);
			}
		}
		const { next } = this.#sql
			.exec<{ next: number | null }>("SELECT min(next_at) AS next FROM deleted")
			.one();
		if (next !== null) await this.ctx.storage.setAlarm(next);
	}
}
