/** The slots of vectors that match a namespace and a filter, by the metadata indexes. */
import { COMPARISONS, numberFor, type SelectedCondition } from "../properties.ts";
import type { FilterValue } from "../records.ts";
import { stored } from "./property-table.ts";

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
		const kept = operator === "$eq" || operator === "$in" ? 1 : 0;
		for (let slot = 0; slot < matching.length; slot++) if (matching[slot] !== kept) this.slots[slot] = 0;
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
