/** The bytes of a text in pieces: {@link cut}. */
export const pieces = (text: string, places: readonly number[]): Uint8Array[] =>
	cut(new TextEncoder().encode(text), places);

/** Copies of the pieces that end at the places. Places may repeat, and lie behind the end. */
export function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
	const cuts = [0, ...places.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length];
	return cuts.slice(1).map((end, nth) => bytes.slice(cuts[nth], end));
}
