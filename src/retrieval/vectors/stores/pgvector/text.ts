/** PostgreSQL's text has no NUL, so two characters stand for it. The order of the texts stays. */
const ESCAPE = "\x01";

export const encoded = (text: string): string =>
	text.replaceAll(ESCAPE, `${ESCAPE}\x02`).replaceAll("\0", `${ESCAPE}\x01`);

/** The second character of a code shows where the code begins, because none of them stands alone. */
export function decoded(text: string): string {
	if (!text.includes(ESCAPE)) return text;
	let result = "";
	for (let at = 0; at < text.length; at++) {
		const character = text[at] ?? "";
		result += character === ESCAPE ? (text[++at] === "\x02" ? ESCAPE : "\0") : character;
	}
	return result;
}
