/**
 * What conversions may cost. They run on the Worker's own CPU and in its memory, and small files can ask for much: a
 * few kilobytes of HTML stand for millions of elements (unclosed formatting, spans of tables), nested lists multiply
 * every line in them. So everything that costs is spent from an allowance, before it is done.
 *
 * One unit is an element with its text, or 100 characters: about 50 microseconds, and 2 KB while it lasts. A Worker has
 * 128 MB for all that it does at once.
 */

export const FILE_WORK = 40_000;
export const REQUEST_WORK = 80_000;
export const CHARACTERS_PER_UNIT = 100;

/** Why one file cannot be converted, in a sentence for the caller. */
export class ConversionFailure extends Error {
	override readonly name = "ConversionFailure";
}

export class Work {
	#left: number;
	readonly #refusal: string;
	readonly #shared: Work | undefined;

	private constructor(units: number, refusal: string, shared?: Work) {
		this.#left = units;
		this.#refusal = refusal;
		this.#shared = shared;
	}

	static ofRequest(): Work {
		return new Work(REQUEST_WORK, "The files of this request are together too large to convert at once");
	}

	/** A file's own allowance; what it spends is spent from the request's, too. */
	ofFile(): Work {
		return new Work(
			FILE_WORK,
			`The file is too large or too complex to convert: about ${FILE_WORK} elements, or ${(FILE_WORK * CHARACTERS_PER_UNIT) / 1_000_000} MB of text, are the most`,
			this,
		);
	}

	/** Throws a `ConversionFailure` when the allowance does not hold it. */
	spend(units: number): void {
		this.#left -= units;
		if (this.#left < 0) throw new ConversionFailure(this.#refusal);
		this.#shared?.spend(units);
	}

	spendCharacters(count: number): void {
		this.spend(count / CHARACTERS_PER_UNIT);
	}
}
