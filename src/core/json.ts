/** JSON of unknown content. */

/** The value of a JSON text; `undefined` for a text that is not JSON. */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** Whether the value is an object other than an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** The object of a JSON text; `undefined` for any other text. */
export function parseRecord(text: string): Record<string, unknown> | undefined {
	const value = parseJson(text);
	return isRecord(value) ? value : undefined;
}
