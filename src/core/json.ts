/** JSON of unknown content. */

/** The value of a JSON text; `undefined` for a text that is not JSON. */
export function parseJson(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** A text inside of JSON, or a number that JSON does not have. A text without an end goes up to the end, so that no character is read twice. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*(?:"|$)|-?\b(?:NaN|Infinity)\b/gs;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const CONTROL = /[\u0000-\u001f]/g;

/** As {@link parseJson}, for JSON of engines: numbers that JSON does not have (Python's `NaN`) are `null`, and texts may have control characters. */
export function parseLooseJson(text: string): unknown {
	const value = parseJson(text);
	if (value !== undefined || !/^\s*[{[]/.test(text)) return value;
	return parseJson(
		text.replace(TEXT_OR_NUMBER, (found) =>
			found.startsWith('"') ? found.replace(CONTROL, (sign) => JSON.stringify(sign).slice(1, -1)) : "null",
		),
	);
}

/** Whether the value is an object other than an array. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether a field is absent. Engines send `null` for it, too. */
export const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

export const isTextOrAbsent = (value: unknown): value is string | undefined | null =>
	typeof value === "string" || isAbsent(value);

/** The object of a JSON text; `undefined` for any other text. */
export function parseRecord(text: string): Record<string, unknown> | undefined {
	const value = parseJson(text);
	return isRecord(value) ? value : undefined;
}
