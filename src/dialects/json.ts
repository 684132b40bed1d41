/**
 * As `JSON.stringify`, of plain data in which the JSON of some values is at hand: that is taken, and they are not read.
 * Pieces are added, not joined: the long ones are then copied once, at the end.
 */
export function stringifyWith(value: unknown, texts: ReadonlyMap<unknown, string>): string {
	const text = texts.get(value);
	if (text !== undefined) return text;
	if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
	let written = "";
	if (Array.isArray(value)) {
		for (const each of value) written += `${written && ","}${stringifyWith(each, texts)}`;
		return `[${written}]`;
	}
	for (const [name, member] of Object.entries(value))
		if (member !== undefined)
			written += `${written && ","}${JSON.stringify(name)}:${stringifyWith(member, texts)}`;
	return `{${written}}`;
}
