/** A constant table whose names are any texts is read with `own`: `TABLE[name]` also finds what every object inherits. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

/** Places whose names no caller and no engine chooses. */
const ENUMERATED = [
	// Names of Zod's types and formats.
	"src/schemas/explain.ts: KINDS",
	"src/schemas/explain.ts: FORMATS",
	// Every name begins with `/`.
	"src/surfaces/gateway/step-format.ts: OPENAI_ROUTES",
];

const DECLARATION = /^(?:export )?const (\w+): (?:Readonly<|Partial<)*Record<string,/gm;
const IMPORT = /import \{([^}]*)\} from "(\.[^"]+)"/g;

const tablesOf = (text: string): string[] => [...text.matchAll(DECLARATION)].map(([, name = ""]) => name);

/** The tables of the file and of its imports that it reads with a name that is no literal. */
function readIn(file: string, sources: ReadonlyMap<string, string>): string[] {
	const text = sources.get(file) ?? "";
	const imported = [...text.matchAll(IMPORT)].flatMap(([, names = "", path = ""]) => {
		const tables = tablesOf(sources.get(normalize(join(dirname(file), path))) ?? "");
		return names
			.split(",")
			.map((name) => name.trim())
			.filter((name) => tables.includes(name));
	});
	return [...new Set([...tablesOf(text), ...imported])]
		.filter((name) => new RegExp(`(?<![\\w.])${name}(?:\\?\\.)?\\[(?!"[^"]*"\\])`).test(text))
		.map((name) => `${file}: ${name}`);
}

it("finds a table that is read with a name that is no literal", () => {
	const table = "export const SIZES: Readonly<Record<string, number>> = {};\n";
	const sources = new Map([
		["src/a.ts", `${table}const size = SIZES[name];`],
		["src/b.ts", 'import { other, SIZES } from "./a.ts";\nconst size = SIZES?.[name];'],
		["src/c.ts", `${table}const size = own(SIZES, name) ?? SIZES["large"];`],
		["src/d.ts", "const SIZES: Readonly<Record<Size, number>> = {};\nconst size = SIZES[name];"],
	]);
	expect([...sources.keys()].flatMap((file) => readIn(file, sources))).toEqual([
		"src/a.ts: SIZES",
		"src/b.ts: SIZES",
	]);
});

it("has no table in src that is read with a name that a caller or an engine may choose", () => {
	const files = globSync("src/**/*.ts", { cwd: ROOT });
	const sources = new Map(files.map((file) => [file, readFileSync(join(ROOT, file), "utf8")] as const));
	expect(files.flatMap((file) => tablesOf(sources.get(file) ?? "")).length).toBeGreaterThan(40);
	expect(files.flatMap((file) => readIn(file, sources)).sort()).toEqual([...ENUMERATED].sort());
});
