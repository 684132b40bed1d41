/** What is left of the work that may go into one reply, so that no schema and no text together take for ever. */
export interface Effort {
	/** Values tried for places in documents. */
	values: number;
	/** Characters of texts read through for one property each. */
	characters: number;
}

export const fullEffort = (): Effort => ({ values: 40_000, characters: 8_000_000 });
