/**
 * `JSON.stringify` for plain data, with existing JSON text for some values. Those values are not read. The result is built
 * with `+=`, so that the engine copies long texts only once, at the end.
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
