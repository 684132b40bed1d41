/** The bytes of a text in pieces that end at the places. Places may repeat, and lie behind the end. */
export function pieces(text: string, places: readonly number[]): Uint8Array[] {
	const bytes = new TextEncoder().encode(text);
	const cuts = [0, ...places.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length];
	return cuts.slice(1).map((end, nth) => bytes.slice(cuts[nth], end));
}
