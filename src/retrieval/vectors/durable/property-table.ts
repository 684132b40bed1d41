/**
 * The metadata indexes of an index, and the values that they have. Only vectors that are written later than a metadata index have values in it:
 * each has a number that is not used again.
 */
import { parseRecord } from "../../../core/json.ts";
import { indexedValue, nested } from "../metadata.ts";
import type { NumberedProperty } from "../properties.ts";
import type { MetadataIndex } from "../records.ts";

/** Written by the mutations of metadata indexes. A row dies by such a mutation, or with the index. */
const PROPERTIES = `CREATE TABLE IF NOT EXISTS properties (
	number INTEGER PRIMARY KEY,
	name TEXT NOT NULL,
	type TEXT NOT NULL
)`;
/** Written with a vector. A row dies with the vector or the metadata index. Booleans are 0 and 1. */
const INDEXED = `CREATE TABLE IF NOT EXISTS indexed (
	property INTEGER NOT NULL,
	value NOT NULL,
	slot INTEGER NOT NULL,
	PRIMARY KEY (property, value, slot)
) WITHOUT ROWID`;
const BY_SLOT = "CREATE INDEX IF NOT EXISTS indexed_by_slot ON indexed (slot)";

interface PropertyRow extends Record<string, SqlStorageValue> {
	number: number;
	name: string;
	type: MetadataIndex["indexType"];
}

export class PropertyTable {
	readonly #sql: SqlStorage;
	#all: NumberedProperty[];

	constructor(sql: SqlStorage) {
		this.#sql = sql;
		sql.exec(`${PROPERTIES}; ${INDEXED}; ${BY_SLOT}`);
		this.#all = sql
			.exec<PropertyRow>("SELECT * FROM properties ORDER BY number")
			.toArray()
			.map(({ number, name, type }) => ({ number, propertyName: name, indexType: type }));
	}

	get all(): readonly NumberedProperty[] {
		return this.#all;
	}

	/** Replaces all metadata indexes. The values of those that are not among them are deleted. */
	replace(properties: readonly NumberedProperty[]): void {
		const numbers = (all: readonly NumberedProperty[]) => all.map(({ number }) => number).join();
		if (numbers(properties) === numbers(this.#all)) return;
		const kept = new Set(properties.map(({ number }) => number));
		for (const { number } of this.#all) {
			if (kept.has(number)) continue;
			this.#sql.exec("DELETE FROM properties WHERE number = ?", number);
			this.#sql.exec("DELETE FROM indexed WHERE property = ?", number);
		}
		for (const { number, propertyName, indexType } of properties)
			this.#sql.exec("INSERT OR IGNORE INTO properties VALUES (?, ?, ?)", number, propertyName, indexType);
		this.#all = [...properties];
	}

	/** Writes the values of a vector, which has none. */
	insert(slot: number, metadata: string | undefined): void {
		if (metadata === undefined || this.#all.length === 0) return;
		const fields = parseRecord(metadata) ?? {};
		for (const { number, propertyName, indexType } of this.#all) {
			const value = indexedValue(fields, propertyName, indexType);
			if (value === undefined) continue;
			this.#sql.exec("INSERT OR IGNORE INTO indexed VALUES (?, ?, ?)", number, stored(value), slot);
		}
	}

	delete(slot: number): void {
		this.#sql.exec("DELETE FROM indexed WHERE slot = ?", slot);
	}

	/** The metadata of a vector that is indexed. */
	indexedMetadata(slot: number): string | undefined {
		const values = new Map(
			this.#sql
				.exec<{ property: number; value: string | number }>(
					"SELECT property, value FROM indexed WHERE slot = ?",
					slot,
				)
				.toArray()
				.map(({ property, value }) => [property, value]),
		);
		return nested(
			this.#all.flatMap(({ number, propertyName, indexType }) => {
				const value = values.get(number);
				if (value === undefined) return [];
				return [[propertyName, indexType === "boolean" ? value === 1 : value] as const];
			}),
		);
	}
}

export const stored = (value: string | number | boolean): string | number =>
	typeof value === "boolean" ? Number(value) : value;
