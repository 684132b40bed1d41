/** The value of the text of a field. Throws an error with a sentence. `name`: of the field. */
export function json(text: string, name: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Error(`${name} is not JSON`);
	}
}

/** The JSON object of the text of a field. An empty text is an object without fields. `example`: of such a text. */
export function objectIn(text: string, name: string, example: string): Record<string, unknown> {
	const value = text.trim() === "" ? {} : json(text, name);
	if (typeof value !== "object" || value === null || Array.isArray(value))
		throw new Error(`${name}: expected a JSON object such as ${example}`);
	return { ...value };
}
