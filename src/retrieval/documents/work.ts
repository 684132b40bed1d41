/**
 * Limits the cost of a conversion. Small files can be expensive: a few kilobytes of HTML can become millions of elements (unclosed
 * formatting, table spans), and nested lists repeat their indentation on every line. So each step spends its cost from an allowance
 * before it runs.
 *
 * One unit is an element with its text, or 100 characters: about 50 microseconds, and 2 KB during the conversion. A Worker
 * has 128 MB for all requests at the same time.
 */

export const FILE_WORK = 40_000;
/** For all files of a request. */
export const REQUEST_WORK = 400_000;
export const CHARACTERS_PER_UNIT = 100;

/** A file cannot be converted. The message is for the caller. */
export class ConversionFailure extends Error {
	override readonly name = "ConversionFailure";
}

export const TOO_DEEP = "The document is nested too deeply";

/** The allowance of one file. */
export class Work {
	#spent = 0;

	get spent(): number {
		return Math.min(this.#spent, FILE_WORK);
	}

	/** Throws a `ConversionFailure` if the allowance is exceeded. */
	spend(units: number): void {
		this.#spent += units;
		if (this.#spent > FILE_WORK)
			throw new ConversionFailure(
				`The file is too large or too complex to convert: about ${FILE_WORK} elements, or ${(FILE_WORK * CHARACTERS_PER_UNIT) / 1_000_000} MB of text, are the most`,
			);
	}

	spendCharacters(count: number): void {
		this.spend(count / CHARACTERS_PER_UNIT);
	}
}
