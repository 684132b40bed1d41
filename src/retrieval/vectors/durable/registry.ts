/** The `VectorRegistry` object: the vector indexes of one account, and the bytes of each. */
import { DurableObject } from "cloudflare:workers";
import type { VectorIndexRecord } from "../records.ts";

/** Written by the routes. `bytes`: on the disk after the last mutation. A row dies when the index is deleted. */
const INDEXES = `CREATE TABLE IF NOT EXISTS indexes (
	name TEXT PRIMARY KEY,
	json TEXT NOT NULL,
	bytes INTEGER NOT NULL
) WITHOUT ROWID`;
/** Objects of deleted indexes. A row dies when the object is empty. */
const DELETED = `CREATE TABLE IF NOT EXISTS deleted (
	object TEXT PRIMARY KEY,
	next_at INTEGER NOT NULL
) WITHOUT ROWID`;

const RETRY_MS = 30_000;
/** Objects that the alarm empties at once. */
const OBJECTS_AT_ONCE = 20;

export type Creation = "created" | "exists" | "too-many";

export interface VectorUsage {
	indexes: number;
	bytes: number;
}

export abstract class VectorRegistryObject extends DurableObject {
	readonly #sql: SqlStorage;

	constructor(ctx: DurableObjectState, env: Env) {
		super(ctx, env);
		this.#sql = ctx.storage.sql;
		this.#sql.exec(`${INDEXES}; ${DELETED}`);
	}

	/** Empties the object of an index. */
	protected abstract drop(object: string): Promise<void>;

	create(record: VectorIndexRecord, maxIndexes: number): Creation {
		if (this.get(record.name)) return "exists";
		if (this.usage().indexes >= maxIndexes) return "too-many";
		this.#sql.exec("INSERT INTO indexes VALUES (?, ?, 0)", record.name, JSON.stringify(record));
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

	/** The bytes of an index on the disk. */
	report(name: string, bytes: number): void {
		this.#sql.exec("UPDATE indexes SET bytes = ? WHERE name = ?", bytes, name);
	}

	usage(): VectorUsage {
		return this.#sql
			.exec<{ indexes: number; bytes: number }>(
				"SELECT count(*) AS indexes, coalesce(sum(bytes), 0) AS bytes FROM indexes",
			)
			.one();
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
