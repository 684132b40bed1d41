/** Mutations that are durable and not applied yet: those of a delay, of several objects, and those of which parts are missing. */
import type { MetadataIndex, MutationKind, VectorBatch } from "../records.ts";

/**
 * Written by mutations. `visible_at`: null until all parts are there. A row dies when the mutation is applied, or when its writer has left it
 * incomplete for {@link ABANDONED_MS}.
 */
const MUTATIONS = `CREATE TABLE IF NOT EXISTS mutations (
	number INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	operation TEXT NOT NULL,
	written_at INTEGER NOT NULL,
	visible_at INTEGER,
	detail TEXT NOT NULL
)`;
/** The vectors of a mutation, in order. The rows die with those of `mutations`. Not without a rowid, as in `storage/blobs/piece-table.ts`. */
const PARTS = `CREATE TABLE IF NOT EXISTS parts (
	mutation INTEGER NOT NULL,
	part INTEGER NOT NULL,
	records TEXT NOT NULL,
	content BLOB NOT NULL,
	PRIMARY KEY (mutation, part)
)`;

const ABANDONED_MS = 10 * 60_000;

/** Ids or a metadata index, of a mutation without vectors. */
export type MutationDetail = { ids?: readonly string[]; index?: MetadataIndex };

/** A mutation, or a part of one. The first part has `detail`. */
export interface MutationPart {
	id: string;
	operation: MutationKind;
	detail: MutationDetail;
	batches: readonly VectorBatch[];
	isLast: boolean;
}

export interface JournalEntry {
	number: number;
	id: string;
	operation: MutationKind;
	detail: MutationDetail;
	visibleAt: number;
}

interface MutationRow extends Record<string, SqlStorageValue> {
	number: number;
	id: string;
	operation: MutationKind;
	visible_at: number;
	detail: string;
}

export class VectorJournal {
	readonly #sql: SqlStorage;

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${MUTATIONS}; ${PARTS}`);
	}

	get isEmpty(): boolean {
		return this.#sql.exec("SELECT 1 FROM mutations LIMIT 1").toArray().length === 0;
	}

	/** `number`: of the mutation, if this is its first part. */
	append(
		{ id, operation, detail, batches, isLast }: MutationPart,
		{ number, now, visibleAt }: { number: number; now: number; visibleAt: number },
	): void {
		const [known] = this.#sql
			.exec<{ number: number }>("SELECT number FROM mutations WHERE id = ?", id)
			.toArray();
		const mutation = known?.number ?? number;
		if (!known)
			this.#sql.exec(
				"INSERT INTO mutations VALUES (?, ?, ?, ?, NULL, ?)",
				mutation,
				id,
				operation,
				now,
				JSON.stringify(detail),
			);
		const { parts } = this.#sql
			.exec<{ parts: number }>("SELECT count(*) AS parts FROM parts WHERE mutation = ?", mutation)
			.one();
		for (const [index, { records, values }] of batches.entries())
			this.#sql.exec(
				"INSERT INTO parts VALUES (?, ?, ?, ?)",
				mutation,
				parts + index,
				JSON.stringify(records),
				values.buffer,
			);
		this.#sql.exec("UPDATE mutations SET written_at = ? WHERE number = ?", now, mutation);
		if (isLast) this.#sql.exec("UPDATE mutations SET visible_at = ? WHERE number = ?", visibleAt, mutation);
	}

	/** The first mutation that is complete. */
	next(): JournalEntry | undefined {
		const [row] = this.#sql
			.exec<MutationRow>("SELECT * FROM mutations WHERE visible_at IS NOT NULL ORDER BY number LIMIT 1")
			.toArray();
		if (!row) return undefined;
		const { number, id, operation, visible_at, detail } = row;
		return { number, id, operation, visibleAt: visible_at, detail: JSON.parse(detail) };
	}

	/** The first vectors of the mutation that are not applied. */
	nextPart(mutation: number): { part: number; batch: VectorBatch } | undefined {
		const [row] = this.#sql
			.exec<{ part: number; records: string; content: ArrayBuffer }>(
				"SELECT part, records, content FROM parts WHERE mutation = ? ORDER BY part LIMIT 1",
				mutation,
			)
			.toArray();
		if (!row) return undefined;
		const { part, records, content } = row;
		return { part, batch: { records: JSON.parse(records), values: new Float32Array(content) } };
	}

	deletePart(mutation: number, part: number): void {
		this.#sql.exec("DELETE FROM parts WHERE mutation = ? AND part = ?", mutation, part);
	}

	/** Vectors of all mutations. */
	get vectors(): number {
		return (
			this.#sql
				.exec<{ vectors: number | null }>("SELECT sum(json_array_length(records)) AS vectors FROM parts")
				.one().vectors ?? 0
		);
	}

	/** Of the same vectors, some repeatedly. */
	ids(): string[] {
		return this.#sql
			.exec<{ id: string }>(
				"SELECT json_extract(record.value, '$.id') AS id FROM parts, json_each(parts.records) AS record",
			)
			.toArray()
			.map(({ id }) => id);
	}

	/** The mutation, if it is there, lacks a part that does not come. */
	drop(id: string): void {
		const rows = this.#sql
			.exec<{ number: number }>("SELECT number FROM mutations WHERE id = ?", id)
			.toArray();
		for (const { number } of rows) this.delete(number);
	}

	delete(mutation: number): void {
		this.#sql.exec("DELETE FROM parts WHERE mutation = ?", mutation);
		this.#sql.exec("DELETE FROM mutations WHERE number = ?", mutation);
	}

	/** When a mutation must be applied, or is abandoned. */
	nextTime(): number | undefined {
		const { at } = this.#sql
			.exec<{ at: number | null }>(
				"SELECT min(coalesce(visible_at, written_at + ?)) AS at FROM mutations",
				ABANDONED_MS,
			)
			.one();
		return at ?? undefined;
	}

	deleteAbandoned(now: number): void {
		const abandoned = this.#sql
			.exec<{ number: number }>(
				"SELECT number FROM mutations WHERE visible_at IS NULL AND written_at <= ?",
				now - ABANDONED_MS,
			)
			.toArray();
		for (const { number } of abandoned) this.delete(number);
	}
}
