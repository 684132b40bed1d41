/** Sentences for a developer, in the log of the process. */

/** Later sentences are not written. */
const MAX_SENTENCES = 100;

/** Writes each sentence once. `about`: its beginning. */
export type Hint = (about: string, sentences: Iterable<string>) => void;

export function hintOnce(): Hint {
	const written = new Set<string>();
	return (about, sentences) => {
		for (const sentence of sentences) {
			const line = `${about}: ${sentence}`;
			if (written.has(line) || written.size >= MAX_SENTENCES) continue;
			written.add(line);
			console.warn(line);
		}
	};
}
