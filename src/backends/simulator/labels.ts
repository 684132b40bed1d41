/**
 * Values that a text gives by name: `name: Alice`, `my name is Alice`, "directed by Lana". A name becomes a plain
 * expression, and what stands around it is read by expressions made once: those with classes of letters take longer to
 * make than to run, and a schema may have ten thousand properties.
 */
import { type Hint, keyWords } from "./kinds.ts";
import type { Source } from "./source.ts";
import { isStopWord, term } from "./text.ts";

/** Longer names are not looked for. */
const MAX_NAME_CHARACTERS = 200;

const LINK = String.raw`\s*(?:["'*]{1,3}\s*)?(?::|=|\bis\b|\bare\b|\bequals\b|\bshould be\b|\bwill be\b|\bset to\b|\bto be\b|\bnamed\b|\bcalled\b)\s*`;
const QUOTED_VALUE = String.raw`"([^"\n]{1,500})"|“([^”\n]{1,500})”|'([^'\n]{1,500})'`;
const PART = String.raw`[^\s,.;\n][^,;\n]{0,120}?(?=[,;\n]|[.?!](?:\s|$)|\s+(?:and|with|but|who|that|in|at|on|from|for)\s|$)`;
const WHOLE = String.raw`[^.;\n]{1,500}`;
const ADJACENT = String.raw`s?\s+(?:${QUOTED_VALUE})`;
const linked = (end: string) => `s?${LINK}(?:${QUOTED_VALUE}|(${end}))`;
const BEHIND = {
	adjacent: new RegExp(ADJACENT, "iuy"),
	part: new RegExp(linked(PART), "iuy"),
	whole: new RegExp(linked(WHOLE), "iuy"),
};

/** What follows the property's name: `name: Alice`, `"name": "Alice"`, "my name is Alice", `subject "Hello"`. */
export function labelled(source: Source, { key }: Hint, whole = false): string[] {
	const parts = key.length > MAX_NAME_CHARACTERS ? [] : keyWords(key);
	if (parts.length === 0) return [];
	// "directed by Lana" names the director, "written by" the writer.
	const last = term(parts.at(-1) ?? "");
	const made = source.makers.filter(({ verb }) => verb === last).map(({ name }) => name);
	const named = (sticky: RegExp) => source.behind(parts, sticky).map((groups) => groups.find(Boolean) ?? "");
	return [...named(BEHIND.adjacent), ...named(whole ? BEHIND.whole : BEHIND.part), ...made]
		.map((value) => value.trim())
		.map((value) => value.replace(/^(?:an?|the)\s+/i, "").replace(/["'}\].]+$/, ""))
		.filter((value) => value !== "" && !(isStopWord(value) || /^(?:["'{[]|not\b)/.test(value)));
}
