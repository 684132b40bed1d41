/**
 * Limits the cost of conversions, which use the Worker's CPU and memory. Small files can be expensive: a few kilobytes of
 * HTML can become millions of elements (unclosed formatting, table spans), and nested lists repeat their indentation on
 * every line. So each step spends its cost from an allowance before it runs.
 *
 * One unit is an element with its text, or 100 characters: about 50 microseconds, and 2 KB during the conversion. A Worker
 * has 128 MB for all requests at the same time.
 */

export const FILE_WORK = 40_000;
export const REQUEST_WORK = 80_000;
export const CHARACTERS_PER_UNIT = 100;

/** A file cannot be converted. The message is for the caller. */
export class ConversionFailure extends Error {
	override readonly name = "ConversionFailure";
}

export class Work {
	#remaining: number;
	readonly #refusal: string;
	readonly #shared: Work | undefined;

	private constructor(units: number, refusal: string, shared?: Work) {
		this.#remaining = units;
		this.#refusal = refusal;
		this.#shared = shared;
	}

	static ofRequest(): Work {
		return new Work(REQUEST_WORK, "The files of this request are together too large to convert at once");
	}

	/** The allowance of one file. Its spending also counts against the request's allowance. */
	ofFile(): Work {
		return new Work(
			FILE_WORK,
			`The file is too large or too complex to convert: about ${FILE_WORK} elements, or ${(FILE_WORK * CHARACTERS_PER_UNIT) / 1_000_000} MB of text, are the most`,
			this,
		);
	}

	/** Throws a `ConversionFailure` if the allowance is exceeded. */
	spend(units: number): void {
		this.#remaining -= units;
		if (this.#remaining < 0) throw new ConversionFailure(this.#refusal);
		this.#shared?.spend(units);
	}

	spendCharacters(count: number): void {
		this.spend(count / CHARACTERS_PER_UNIT);
	}
}
