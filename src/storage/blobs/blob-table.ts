/** The objects of one account, without their bytes, and the contents that belong to no object. */
import type { BlobHead, BlobPage } from "./blobs.ts";

/** Written when an object is committed. Deleted with the object. */
const BLOBS = `CREATE TABLE IF NOT EXISTS blobs (
	key TEXT PRIMARY KEY,
	content INTEGER NOT NULL,
	store TEXT NOT NULL,
	name TEXT,
	bytes INTEGER NOT NULL,
	stored_at INTEGER NOT NULL
) WITHOUT ROWID`;
/**
 * Contents of no object: of a put in progress, of a put that failed, and of objects that were replaced or deleted. Deleted with their
 * bytes, or when the put is committed. They are kept until `collect_at` (epoch milliseconds). `incomplete`: the put did not end.
 */
const LOOSE = `CREATE TABLE IF NOT EXISTS loose (
	content INTEGER PRIMARY KEY,
	store TEXT NOT NULL,
	name TEXT,
	collect_at INTEGER NOT NULL,
	incomplete INTEGER NOT NULL
)`;
/** Puts that were refused because the account's storage was full. One row for each store. */
const REFUSED =
	"CREATE TABLE IF NOT EXISTS refused (store TEXT PRIMARY KEY, puts INTEGER NOT NULL) WITHOUT ROWID";

/** `pieces`: the rows of the account's own object. The others are outside, and `name` is the name of a content there. */
export type StoreName = "pieces" | "r2" | "s3";

export interface ContentPlace {
	/** A number, unique in the account. */
	content: number;
	store: StoreName;
	/** `null` for `pieces`. */
	name: string | null;
}

export interface LooseContent extends ContentPlace {
	collectAt: number;
	incomplete: boolean;
}

/** What an account stores in one store. */
export interface StoreUsage {
	store: StoreName;
	objects: number;
	bytes: number;
	refusedPuts: number;
}

interface BlobRow extends BlobHead, ContentPlace {}

interface Columns extends Record<string, SqlStorageValue> {
	key: string;
	content: number;
	store: StoreName;
	name: string | null;
	bytes: number;
	stored_at: number;
}

export const headOf = ({ key, bytes, version, storedAt }: BlobRow): BlobHead => ({
	key,
	bytes,
	version,
	storedAt,
});

const rowOf = ({ key, content, store, name, bytes, stored_at }: Columns): BlobRow => ({
	key,
	bytes,
	version: String(content),
	storedAt: stored_at,
	content,
	store,
	name,
});

export class BlobTable {
	readonly #sql: SqlStorage;
	/** Of all objects. Absent until the first use, because it reads all rows. */
	#bytes: number | undefined;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${BLOBS}; ${LOOSE}; ${REFUSED}`);
	}

	get bytes(): number {
		this.#bytes ??=
			this.#sql.exec<{ bytes: number | null }>("SELECT sum(bytes) AS bytes FROM blobs").one().bytes ?? 0;
		return this.#bytes;
	}

	find(key: string): BlobRow | undefined {
		const row = this.#sql.exec<Columns>("SELECT * FROM blobs WHERE key = ?", key).toArray()[0];
		return row && rowOf(row);
	}

	/** Inserts an object, or replaces the one with the same key. @returns the replaced one. */
	put({ key, content, store, name, bytes, storedAt }: BlobRow): BlobRow | undefined {
		const total = this.bytes;
		const replaced = this.find(key);
		this.#sql.exec(
			"INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?, ?, ?)",
			key,
			content,
			store,
			name,
			bytes,
			storedAt,
		);
		this.#bytes = total + bytes - (replaced?.bytes ?? 0);
		return replaced;
	}

	/** @returns the deleted object. */
	delete(key: string): BlobRow | undefined {
		const row = this.find(key);
		if (!row) return undefined;
		const total = this.bytes;
		this.#sql.exec("DELETE FROM blobs WHERE key = ?", key);
		this.#bytes = total - row.bytes;
		return row;
	}

	/** SQLite compares the UTF-8 bytes of keys. A prefix ends at the first key that does not start with it. */
	list({ prefix, after, limit }: { prefix: string; after: string; limit: number }): BlobPage {
		const rows = this.#sql
			.exec<Columns>(
				"SELECT * FROM blobs WHERE key >= ?1 AND key > ?2 ORDER BY key LIMIT ?3",
				prefix,
				after,
				limit + 1,
			)
			.toArray()
			.filter(({ key }) => key.startsWith(prefix))
			.map(rowOf);
		const blobs = rows.slice(0, limit).map(headOf);
		const last = blobs.at(-1);
		return { blobs, ...(rows.length > limit && last && { after: last.key }) };
	}

	usage(): StoreUsage[] {
		return this.#sql
			.exec<{ store: StoreName; objects: number; bytes: number; puts: number }>(
				`SELECT store, sum(objects) AS objects, sum(bytes) AS bytes, sum(puts) AS puts FROM (
					SELECT store, count(*) AS objects, sum(bytes) AS bytes, 0 AS puts FROM blobs GROUP BY store
					UNION ALL SELECT store, 0, 0, puts FROM refused
				) GROUP BY store`,
			)
			.toArray()
			.map(({ store, objects, bytes, puts }) => ({ store, objects, bytes, refusedPuts: puts }));
	}

	countRefused(store: StoreName): void {
		this.#sql.exec("INSERT INTO refused VALUES (?, 1) ON CONFLICT DO UPDATE SET puts = puts + 1", store);
	}

	/** Adds a content, or changes when it is collected. */
	addLoose({ content, store, name, collectAt, incomplete }: LooseContent): void {
		this.#sql.exec(
			"INSERT INTO loose VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET collect_at = excluded.collect_at",
			content,
			store,
			name,
			collectAt,
			incomplete ? 1 : 0,
		);
	}

	loose(content: number): LooseContent | undefined {
		return this.#looseRows("WHERE content = ?", content)[0];
	}

	/** The first ones to collect. */
	nextLoose(limit: number): LooseContent[] {
		return this.#looseRows("ORDER BY collect_at LIMIT ?", limit);
	}

	deleteLoose(content: number): void {
		this.#sql.exec("DELETE FROM loose WHERE content = ?", content);
	}

	#looseRows(condition: string, value: number): LooseContent[] {
		return this.#sql
			.exec<Columns & { collect_at: number; incomplete: number }>(`SELECT * FROM loose ${condition}`, value)
			.toArray()
			.map(({ content, store, name, collect_at, incomplete }) => ({
				content,
				store,
				name,
				collectAt: collect_at,
				incomplete: incomplete === 1,
			}));
	}
}
