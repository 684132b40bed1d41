/**
 * About how many tokens a text is, without a vocabulary. Latin text runs at four characters a token; scripts that
 * pack more into a character (Chinese, Japanese, Korean, …) at about one and a half.
 */
const LATIN_CHARACTERS_PER_TOKEN = 4;
const DENSE_CHARACTERS_PER_TOKEN = 1.5;
const DENSE_SCRIPTS_START = 0x2e80;

export function approximateTokens(texts: readonly string[]): number {
	let latin = 0;
	let dense = 0;
	for (const text of texts)
		for (let i = 0; i < text.length; i++) {
			if (text.charCodeAt(i) < DENSE_SCRIPTS_START) latin++;
			else dense++;
		}
	return Math.ceil(latin / LATIN_CHARACTERS_PER_TOKEN + dense / DENSE_CHARACTERS_PER_TOKEN);
}
