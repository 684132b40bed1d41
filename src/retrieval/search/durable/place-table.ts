/** The places of a source: pages and sitemaps of a website, or objects of a bucket. */

/**
 * Written by the reading of a source. `job`: the last one that has found the place. `item`: the item that it became. A row dies when a job
 * that has read the whole source has not found the place.
 */
const PLACES = `CREATE TABLE IF NOT EXISTS places (
	place TEXT PRIMARY KEY,
	kind TEXT NOT NULL,
	job TEXT NOT NULL,
	state TEXT NOT NULL,
	depth INTEGER NOT NULL,
	tries INTEGER NOT NULL DEFAULT 0,
	etag TEXT,
	last_modified TEXT,
	read_at INTEGER,
	item TEXT
) WITHOUT ROWID; CREATE INDEX IF NOT EXISTS places_by_job ON places (job, state)`;

export type PlaceKind = "page" | "sitemap" | "object";
/**
 * `passed`: only its links are used. `failed`: for now, so its item stays. `closed`: robots.txt or the configuration excludes it. Items of
 * places that are passed, gone or closed are deleted.
 */
export type PlaceState = "waiting" | "read" | "passed" | "failed" | "gone" | "closed";

export interface NewPlace {
	place: string;
	kind: PlaceKind;
	/** Links from the start of the website. */
	depth: number;
}

export interface SourcePlace extends NewPlace {
	/** Of this job, that have failed. */
	tries: number;
	/** Of the version that was read last. */
	etag?: string;
	lastModified?: string;
	/** Epoch milliseconds. */
	readAt?: number;
	item?: string;
}

export interface PlaceEnd {
	place: string;
	state: PlaceState;
	/** Of the version that was read. Absent: the values stay. */
	version?: { etag?: string | undefined; lastModified?: string | undefined; readAt: number };
	/** A line of the job's log. */
	error?: string;
}

export type PlaceCounts = Record<PlaceState, number>;

interface Columns extends Record<string, SqlStorageValue> {
	place: string;
	kind: PlaceKind;
	depth: number;
	tries: number;
	etag: string | null;
	last_modified: string | null;
	read_at: number | null;
	item: string | null;
}

const placeOf = ({
	depth,
	etag,
	item,
	kind,
	last_modified,
	place,
	read_at,
	tries,
}: Columns): SourcePlace => ({
	...{ place, kind, depth, tries },
	...(etag !== null && { etag }),
	...(last_modified !== null && { lastModified: last_modified }),
	...(read_at !== null && { readAt: read_at }),
	...(item !== null && { item }),
});

export class PlaceTable {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(PLACES);
	}

	/** Those that the job has not found yet wait. */
	add(job: string, places: readonly NewPlace[], limit: number): void {
		let count = this.#count(job);
		for (const { depth, kind, place } of places) {
			if (count >= limit) return;
			count += this.#sql.exec(
				`INSERT INTO places (place, kind, job, state, depth) VALUES (?1, ?2, ?3, 'waiting', ?4)
				ON CONFLICT (place) DO UPDATE SET kind = ?2, job = ?3, state = 'waiting', depth = ?4, tries = 0 WHERE job <> ?3`,
				place,
				kind,
				job,
				depth,
			).rowsWritten
				? 1
				: 0;
		}
	}

	/** The nearest ones first. */
	waiting(job: string, limit: number): SourcePlace[] {
		return this.#sql
			.exec<Columns>(
				"SELECT * FROM places WHERE job = ? AND state = 'waiting' ORDER BY tries, depth, place LIMIT ?",
				job,
				limit,
			)
			.toArray()
			.map(placeOf);
	}

	end({ place, state, version }: PlaceEnd): void {
		this.#sql.exec("UPDATE places SET state = ?, tries = tries + 1 WHERE place = ?", state, place);
		if (version)
			this.#sql.exec(
				"UPDATE places SET etag = ?, last_modified = ?, read_at = ? WHERE place = ?",
				version.etag ?? null,
				version.lastModified ?? null,
				version.readAt,
				place,
			);
	}

	setItem(place: string, item: string | null): void {
		this.#sql.exec("UPDATE places SET item = ? WHERE place = ?", item, place);
	}

	counts(job: string): PlaceCounts {
		const counts: PlaceCounts = { waiting: 0, read: 0, passed: 0, failed: 0, gone: 0, closed: 0 };
		for (const { places, state } of this.#sql.exec<{ state: PlaceState; places: number }>(
			"SELECT state, count(*) AS places FROM places WHERE job = ? GROUP BY state",
			job,
		))
			counts[state] = places;
		return counts;
	}

	/** Whether the job has all links: what it has not read is known from an earlier reading. */
	isWhole(job: string): boolean {
		const [row] = this.#sql
			.exec("SELECT 1 FROM places WHERE job = ? AND state = 'failed' AND item IS NULL LIMIT 1", job)
			.toArray();
		return row === undefined;
	}

	/** Places whose items are deleted. Those that the job has not found are among them only if it has all links. */
	obsolete(job: string, limit: number): { place: string; item: string | null }[] {
		return this.#sql
			.exec<{ place: string; item: string | null }>(
				"SELECT place, item FROM places WHERE (job <> ? AND ?) OR (state IN ('passed', 'gone', 'closed') AND item IS NOT NULL) LIMIT ?",
				job,
				Number(this.isWhole(job)),
				limit,
			)
			.toArray();
	}

	delete(place: string): void {
		this.#sql.exec("DELETE FROM places WHERE place = ?", place);
	}

	#count(job: string): number {
		return this.#sql.exec<{ count: number }>("SELECT count(*) AS count FROM places WHERE job = ?", job).one()
			.count;
	}
}
