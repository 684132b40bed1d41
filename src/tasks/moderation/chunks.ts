/** About 2,000 tokens, on which the guard model is precise. */
const CHUNK_CHARACTERS = 8_000;
/** A sentence at the end of a part is also in the next one. */
const OVERLAP_CHARACTERS = 200;

/** The parts of a text that are judged one by one. */
export function chunksOf(text: string): string[] {
	const chunks: string[] = [];
	for (let at = 0; at < text.length; at += CHUNK_CHARACTERS - OVERLAP_CHARACTERS) {
		chunks.push(text.slice(at, at + CHUNK_CHARACTERS));
		if (at + CHUNK_CHARACTERS >= text.length) break;
	}
	return chunks;
}
