/**
 * JSON whose integers above 2^53 keep all their digits. `JSON.parse` would round them, and an engine's 64-bit id would name
 * another object. Each such number becomes a value that `JSON.stringify` writes back unchanged.
 * Source: https://tc39.es/proposal-json-parse-with-source, which V8 has.
 */

declare global {
	interface JSON {
		parse(
			text: string,
			reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
		): unknown;
		rawJSON(text: string): object;
	}
}

/** `undefined`: the text is not JSON. */
export function parseExactly(text: string): unknown {
	try {
		return JSON.parse(text, (_, value: unknown, { source }: { source?: string }) =>
			typeof value !== "number" || isExact(value) || source === undefined ? value : JSON.rawJSON(source),
		);
	} catch {
		return undefined;
	}
}

/** Fractions are binary in every engine, so rounding them changes nothing. */
const isExact = (value: number): boolean =>
	Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
