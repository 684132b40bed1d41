/**
 * Estimates the tokens of texts of any length. Above `limit` tokens the count stops and the remaining text is extrapolated.
 * Of longer texts, slices at equal distances are counted. So the CPU time does not grow with the length.
 */
import { TokenCount } from "./token-estimate.ts";

/** More than 100,000 tokens of prose. */
const MAX_COUNTED_CHARACTERS = 500_000;
/** Characters between two checks of the limit. Shorter slices represent a mixed text better. */
const SLICE_CHARACTERS = 4_096;

/** Exact, as `approximateTokens`, up to `limit` and 500,000 characters. Above the limit it is at least `limit`. */
export function boundedTokens(texts: readonly string[], limit: number): number {
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	const share = Math.min(1, MAX_COUNTED_CHARACTERS / characters);
	const count = new TokenCount();
	let passed = 0;
	let counted = 0;
	const extrapolated = (): number => Math.ceil(count.tokens * (characters / counted));
	for (const text of texts) {
		for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
			const length = Math.min(SLICE_CHARACTERS, text.length - at);
			if (counted <= passed * share) {
				count.add(text.slice(at, at + length));
				counted += length;
			}
			passed += length;
			if (count.tokens > limit && counted < characters) return extrapolated();
		}
		count.end();
	}
	return counted < characters ? extrapolated() : count.tokens;
}
