/** The elements of the arrays in a JSON array, as columns. */
export const valuesOf = (columns: number): string =>
	Array.from({ length: columns }, (_, index) => `value ->> ${index}`).join(", ");
