/** Lists as JSON texts of bounded size: a value of SQLite has 2 MB at most, in UTF-8. */

/** Characters. */
const MAX_JSON = 400_000;

interface JsonArray {
	text: string;
	/** The number of its values. */
	count: number;
}

/** In the order of the values. A value above the bound is in an array of its own. */
export function jsonArrays(values: readonly unknown[], maxCount = Number.POSITIVE_INFINITY): JsonArray[] {
	const arrays: string[][] = [];
	let size = Number.POSITIVE_INFINITY;
	for (const value of values) {
		const text = JSON.stringify(value);
		size += text.length;
		const last = arrays.at(-1);
		if (last && size <= MAX_JSON && last.length < maxCount) last.push(text);
		else {
			arrays.push([text]);
			size = text.length;
		}
	}
	return arrays.map((texts) => ({ text: `[${texts.join(",")}]`, count: texts.length }));
}
