/** Whether the text has each of the words, in any case. `words`: as a person types them, with spaces between. */
export function hasWords(text: string, words: string): boolean {
	const subject = text.toLowerCase();
	return words
		.toLowerCase()
		.split(/\s+/)
		.every((word) => subject.includes(word));
}
