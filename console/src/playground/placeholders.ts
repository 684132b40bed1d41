/** JSON with files in it, whose values the examples compute. */
import type { ExampleFile } from "./example-input.ts";

export type Part = string | { file: ExampleFile; index: number };

const PLACEHOLDER = /"@@file (\d+)@@"/;

/** The text of the fields, in parts: the text, and the files between. */
export function withFiles(
	fields: Readonly<Record<string, unknown>>,
	files: readonly ExampleFile[],
	indent?: string,
): Part[] {
	const values = Object.fromEntries(files.map(({ field }, index) => [field, `@@file ${index}@@`]));
	// The number of a file is each second part.
	return JSON.stringify({ ...fields, ...values }, null, indent)
		.split(PLACEHOLDER)
		.flatMap((part, position): Part[] => {
			if (position % 2 === 0) return [part];
			const index = Number(part);
			const file = files[index];
			return file ? [{ file, index }] : [];
		});
}
