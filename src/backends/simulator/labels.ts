/** Values that a text gives by name: `name: Alice`, "my name is Alice", "directed by Lana". */
import { type Hint, keyWords } from "./kinds.ts";
import { isStopWord, literally, term } from "./text.ts";

const LINK = String.raw`\s*(?:["'*]{1,3}\s*)?(?::|=|\bis\b|\bare\b|\bequals\b|\bshould be\b|\bwill be\b|\bset to\b|\bto be\b|\bnamed\b|\bcalled\b)\s*`;
const QUOTED_VALUE = String.raw`"([^"\n]{1,500})"|“([^”\n]{1,500})”|'([^'\n]{1,500})'`;

/** What follows the property's name: `name: Alice`, `"name": "Alice"`, "my name is Alice", `subject "Hello"`. */
export function labelled(source: string, { key }: Hint, whole = false): string[] {
	const parts = keyWords(key);
	if (parts.length === 0) return [];
	const spoken = parts.map(literally).join(String.raw`[\s_-]*`);
	const end = whole
		? String.raw`[^.;\n]{1,500}`
		: String.raw`[^\s,.;\n][^,;\n]{0,120}?(?=[,;\n]|[.?!](?:\s|$)|\s+(?:and|with|but|who|that|in|at|on|from|for)\s|$)`;
	const linked = new RegExp(
		String.raw`(?<![\p{L}\p{N}])["'*]{0,3}${spoken}s?${LINK}(?:${QUOTED_VALUE}|(${end}))`,
		"giu",
	);
	const adjacent = new RegExp(String.raw`(?<![\p{L}\p{N}])${spoken}s?\s+(?:${QUOTED_VALUE})`, "giu");
	// "directed by Lana" names the director, "written by" the writer.
	const last = term(parts.at(-1) ?? "");
	const made = Array.from(
		source.matchAll(/(?<!\p{L})(\p{L}{1,20}) by ((?:\p{Lu}[\p{L}\p{M}.'’-]*\s?){1,4})/gu),
	).filter(([, verb = ""]) => term(verb) === last);
	const said = [
		...source.matchAll(adjacent),
		...source.matchAll(linked),
		...made.map(([, , name]) => ["", name]),
	];
	return said
		.map((match) => (match.slice(1).find((group) => group !== undefined) ?? "").trim())
		.map((value) => value.replace(/^(?:an?|the)\s+/i, "").replace(/["'}\].]+$/, ""))
		.filter((value) => value !== "" && !(isStopWord(value) || /^(?:["'{[]|not\b)/.test(value)));
}
