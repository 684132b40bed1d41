/** The value of a text that somebody typed. Throws an error with a sentence. `name`: of its field. */
export function json(text: string, name: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Error(`${name} is not JSON`);
	}
}
