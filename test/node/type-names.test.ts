/** One meaning for each name of a type: an exported type's name may stand for another type in at most one other file. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const MAX_FILES = 2;

/** Names of types, at the top level of a file. */
const DECLARATION = /^(export )?(?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm;

interface NamedType {
	files: Set<string>;
	isExported: boolean;
}

function namesIn(sources: Iterable<readonly [file: string, text: string]>): Map<string, NamedType> {
	const names = new Map<string, NamedType>();
	for (const [file, text] of sources)
		for (const [, exported, name = ""] of text.matchAll(DECLARATION)) {
			const found = names.get(name) ?? { files: new Set(), isExported: false };
			found.files.add(file);
			found.isExported ||= exported !== undefined;
			names.set(name, found);
		}
	return names;
}

const overused = (names: Map<string, NamedType>): string[] =>
	[...names]
		.filter(([, { files, isExported }]) => isExported && files.size > MAX_FILES)
		.map(([name, { files }]) => `${name}: ${[...files].sort().join(", ")}`);

it("finds a name with a third meaning", () => {
	const third = namesIn([
		["a.ts", "export interface Row {}"],
		["b.ts", "type Row = string;"],
		["c.ts", "class Row {}\nclass Column {}"],
		["d.ts", "/** interface Row */\n\tinterface Row {}"],
	]);
	expect(overused(third)).toEqual(["Row: a.ts, b.ts, c.ts"]);
});

it("has no exported type of src whose name has a third meaning", () => {
	const files = globSync("src/**/*.ts", { cwd: ROOT });
	const names = namesIn(files.map((file) => [file, readFileSync(join(ROOT, file), "utf8")] as const));
	expect(names.size).toBeGreaterThan(500);
	expect(overused(names)).toEqual([]);
});
