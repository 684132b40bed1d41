/**
 * `node scripts/character-references.ts`: writes the names of HTML's character references for `src/markdown/character-references.ts`, in a third of
 * the bytes of the usual tables after compression.
 *
 * `names`: one entry for each text, in the order of its characters, with all its names. A `*` marks a name that needs no semicolon.
 * `gaps`: how far the first character is from that of the entry before (base 36; none: 1), and the second character, if there is one.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { characterEntities } from "character-entities";
import { characterEntitiesLegacy } from "character-entities-legacy";
import { ROOT } from "./root.ts";

const namesOf = new Map<string, string[]>();
for (const [name, text] of Object.entries(characterEntities)) {
	const names = namesOf.get(text) ?? [];
	namesOf.set(text, [...names, characterEntitiesLegacy.includes(name) ? `*${name}` : name]);
}
const entries = [...namesOf]
	.map(([text, names]) => ({
		codes: Array.from(text, (one) => one.codePointAt(0) ?? 0),
		names: names.sort(),
	}))
	.sort(({ codes: [a = 0, x = 0] }, { codes: [b = 0, y = 0] }) => Math.sign(x) - Math.sign(y) || a - b);
let before = 0;
const gaps = entries.map(({ codes: [first = 0, second] }) => {
	const gap = first - before;
	before = first;
	return `${gap === 1 ? "" : gap.toString(36)}${second === undefined ? "" : `+${second.toString(36)}`}`;
});
const names = entries.map((entry) => entry.names.join(","));
const table = { names: names.join(" "), gaps: gaps.join(" ") };
writeFileSync(
	join(ROOT, "src/markdown/character-references.json"),
	`${JSON.stringify(table, undefined, "\t")}\n`,
);
