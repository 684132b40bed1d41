/** Finds the position of a JSON syntax error. The runtime's message quotes the text, and has no position for a short one. */

/** `line 2, column 14`. Columns count UTF-16 units from 1. */
export function jsonMistakeAt(text: string): string {
	let [valid, invalid] = [0, text.length + 1];
	while (invalid - valid > 1) {
		const middle = (valid + invalid) >> 1;
		if (beginsJson(text.slice(0, middle))) valid = middle;
		else invalid = middle;
	}
	const before = text.slice(0, valid).split("\n");
	return valid === text.length
		? "it ends too early"
		: `line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

/** Whether the text is the beginning of valid JSON. */
function beginsJson(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch (error) {
		const message = error instanceof Error ? error.message : "";
		if (/Unexpected end of JSON input|Unterminated string/.test(message)) return true;
		return Number(/at position (\d+)/.exec(message)?.[1]) === text.length;
	}
}
