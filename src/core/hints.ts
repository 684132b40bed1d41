/** Sentences for a developer, in the log of the process. */

/** Later sentences are not written. */
const MAX_SENTENCES = 100;
/** A longer line is truncated: callers choose the names in it. */
const MAX_CHARACTERS = 500;
/** They would end the line, or write elsewhere on the terminal. */
const CONTROL = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes each sentence once. `about`: its beginning. */
export type Hint = (about: string, sentences: Iterable<string>) => void;

export function hintOnce(): Hint {
	const written = new Set<string>();
	return (about, sentences) => {
		for (const sentence of sentences) {
			const line = `${about}: ${sentence}`.slice(0, MAX_CHARACTERS).replace(CONTROL, "�");
			if (written.has(line) || written.size >= MAX_SENTENCES) continue;
			written.add(line);
			console.warn(line);
		}
	};
}
