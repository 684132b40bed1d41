/** The value of the text of a field. Throws an error with a sentence. `name`: of the field. */
export function json(text: string, name: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Error(`${name} is not JSON`);
	}
}
