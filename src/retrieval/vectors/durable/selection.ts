/** The slots of vectors that match a namespace and a filter, by the metadata indexes. */

import { propertyNotIndexed } from "../failures.ts";
import { isList } from "../filter.ts";
import type { FilterCondition, FilterOperator, FilterValue, MetadataIndex } from "../records.ts";
import { type NumberedProperty, stored } from "./property-table.ts";

/** A condition on the metadata indexes of one property. */
export interface SelectedCondition {
	operator: FilterOperator;
	values: readonly FilterValue[];
	/** Of the property, by the type of their values. */
	numbers: Readonly<Partial<Record<MetadataIndex["indexType"], number>>>;
}

/** Throws 40022 if a property has no metadata index. */
export function selectedConditions(
	filter: readonly FilterCondition[],
	properties: readonly NumberedProperty[],
): SelectedCondition[] {
	return filter.map((condition) => {
		const own = properties.filter(({ propertyName }) => propertyName === condition.property);
		if (own.length === 0) throw propertyNotIndexed(condition.property);
		return {
			operator: condition.operator,
			values: isList(condition) ? condition.values : [condition.value],
			numbers: Object.fromEntries(own.map(({ indexType, number }) => [indexType, number])),
		};
	});
}

const COMPARISONS: Readonly<Partial<Record<FilterOperator, string>>> = {
	$lt: "<",
	$lte: "<=",
	$gt: ">",
	$gte: ">=",
};

type Slots = Iterable<number>;

export class Selection {
	readonly #sql: SqlStorage;
	/** 1 at the slots that are selected. */
	readonly slots: Uint8Array;

	/** All slots below `size` are selected. */
	constructor(sql: SqlStorage, size: number) {
		this.#sql = sql;
		this.slots = new Uint8Array(size).fill(1);
	}

	namespace(name: string): void {
		this.#keep(this.#read("FROM vectors WHERE namespace = ?", name));
	}

	/** A vector without a value matches `$ne` and `$nin`, and `$eq: null`. */
	condition({ operator, values, numbers }: SelectedCondition): void {
		const comparison = COMPARISONS[operator];
		if (comparison !== undefined) {
			const [value] = values;
			const number = numberFor(value, numbers);
			const isComparable = number !== undefined && value !== null && value !== undefined;
			const where = `FROM indexed WHERE property = ? AND value ${comparison} ?`;
			this.#keep(isComparable ? this.#read(where, number, stored(value)) : []);
			return;
		}
		const matching = new Uint8Array(this.slots.length);
		for (const value of values) this.#mark(matching, value, numbers);
		const wanted = operator === "$eq" || operator === "$in" ? 1 : 0;
		for (let slot = 0; slot < matching.length; slot++) if (matching[slot] !== wanted) this.slots[slot] = 0;
	}

	#mark(matching: Uint8Array, value: FilterValue, numbers: SelectedCondition["numbers"]): void {
		if (value !== null) {
			const number = numberFor(value, numbers);
			if (number === undefined) return;
			const found = this.#read("FROM indexed WHERE property = ? AND value = ?", number, stored(value));
			for (const slot of found) matching[slot] = 1;
			return;
		}
		const present = new Uint8Array(matching.length);
		for (const number of Object.values(numbers))
			for (const slot of this.#read("FROM indexed WHERE property = ?", number)) present[slot] = 1;
		for (let slot = 0; slot < present.length; slot++) if (present[slot] === 0) matching[slot] = 1;
	}

	/** One JSON text, because a cursor with thousands of rows is slow. */
	#read(where: string, ...bindings: (string | number)[]): Slots {
		const { slots } = this.#sql
			.exec<{ slots: string }>(`SELECT json_group_array(slot) AS slots ${where}`, ...bindings)
			.one();
		return JSON.parse(slots);
	}

	#keep(found: Slots): void {
		const kept = new Uint8Array(this.slots.length);
		for (const slot of found) if (this.slots[slot] === 1) kept[slot] = 1;
		this.slots.set(kept);
	}
}

const numberFor = (
	value: FilterValue | undefined,
	numbers: SelectedCondition["numbers"],
): number | undefined => numbers[typeof value as MetadataIndex["indexType"]];
