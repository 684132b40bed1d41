/**
 * The text of a response's row: the response object, the ids of its input and of its output, and its items. Each is JSON on a line of its
 * own, so that an item is read without being parsed.
 */
import type { ItemRecord } from "../records.ts";

/** `json` is absent if the item stands for the latest other one with its id. */
export interface StoredItem {
	id: string;
	json?: string | undefined;
}

export interface StoredText {
	/** The response object without its output. */
	json: string;
	input: readonly StoredItem[];
	output: readonly StoredItem[];
}

/** The item as it is stored. The text of a reference is that of its target. */
export const storedItem = ({ id, json, reference }: ItemRecord): StoredItem =>
	reference ? { id } : { id, json };

const NO_IDS = "[]";

export function writeText({ json, input, output }: StoredText): string {
	const ids = (items: readonly StoredItem[]): string => JSON.stringify(items.map(({ id }) => id));
	return [json, ids(input), ids(output), ...[...input, ...output].map((item) => item.json ?? "")].join("\n");
}

/** A response whose items are rows of their own may have no ids. */
export function readText(text: string): StoredText {
	const [json = "", inputIds = NO_IDS, outputIds = NO_IDS, ...lines] = text.split("\n");
	const input = JSON.parse(inputIds) as string[];
	const output = JSON.parse(outputIds) as string[];
	const items = [...input, ...output].map((id, index) => ({ id, json: lines[index] || undefined }));
	return { json, input: items.slice(0, input.length), output: items.slice(input.length) };
}
