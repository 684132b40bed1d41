/**
 * About how many tokens a text is, without a vocabulary. Latin text runs at four characters a token; scripts that
 * pack more into a character (Chinese, Japanese, Korean, …) at about one and a half.
 */
const LATIN_CHARACTERS_PER_TOKEN = 4;
const DENSE_CHARACTERS_PER_TOKEN = 1.5;
const DENSE_SCRIPTS_START = 0x2e80;

/** Counts a text that comes in pieces. */
export class TokenCount {
	#latin = 0;
	#dense = 0;

	get tokens(): number {
		return Math.ceil(this.#latin / LATIN_CHARACTERS_PER_TOKEN + this.#dense / DENSE_CHARACTERS_PER_TOKEN);
	}

	/** The text ends here: what is added next is another. */
	end(): void {}

	add(text: string): void {
		for (let i = 0; i < text.length; i++) {
			if (text.charCodeAt(i) < DENSE_SCRIPTS_START) this.#latin++;
			else this.#dense++;
		}
	}
}

export function approximateTokens(texts: readonly string[]): number {
	const count = new TokenCount();
	for (const text of texts) count.add(text);
	return count.tokens;
}
