/**
 * Estimates the tokens of texts of any length. Above `limit` tokens the count stops and the remaining text is extrapolated,
 * so that the CPU time does not grow with the length.
 */
import { TokenCount } from "./token-estimate.ts";

/** Characters between two checks of the limit. */
const SLICE_CHARACTERS = 65_536;

/** Exact, as `approximateTokens`, up to `limit`. Above it the result is an extrapolation, and at least `limit`. */
export function boundedTokens(texts: readonly string[], limit: number): number {
	const characters = texts.reduce((sum, { length }) => sum + length, 0);
	const count = new TokenCount();
	let counted = 0;
	for (const text of texts) {
		for (let at = 0; at < text.length; at += SLICE_CHARACTERS) {
			const slice = text.slice(at, at + SLICE_CHARACTERS);
			count.add(slice);
			counted += slice.length;
			if (count.tokens > limit && counted < characters)
				return Math.ceil(count.tokens * (characters / counted));
		}
		count.end();
	}
	return count.tokens;
}
