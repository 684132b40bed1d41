/** Many rows in one statement, as a JSON array. */

/** Characters of the texts that one statement inserts. */
const MAX_BATCH_TEXT = 200_000;

/** The elements of the arrays in a JSON array, as columns. */
export const valuesOf = (columns: number): string =>
	Array.from({ length: columns }, (_, index) => `value ->> ${index}`).join(", ");

/** Batches in their order. A text above the bound has a batch of its own. */
export function batchesOf<T>(values: readonly T[], sizeOf: (value: T) => number): T[][] {
	const batches: T[][] = [];
	let size = Number.POSITIVE_INFINITY;
	for (const value of values) {
		size += sizeOf(value);
		const batch = batches.at(-1);
		if (batch && size <= MAX_BATCH_TEXT) batch.push(value);
		else {
			batches.push([value]);
			size = sizeOf(value);
		}
	}
	return batches;
}
