/** Compares `docs/architecture.md` with the code: its folders, its steps and their order, the states, and the paths that it names. */
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { LAYERS } from "./layers.ts";

const PAGE = readFileSync("docs/architecture.md", "utf8");
const sourceOf = (file: string): string => readFileSync(`src/pipeline/${file}`, "utf8");

const sectionOf = (heading: string): string => {
	const [, section] = PAGE.split(new RegExp(`^#+ ${heading}$`, "m"));
	if (section === undefined) throw new Error(`No section ${heading}`);
	return section.split(/^#+ /m)[0] ?? "";
};

/** The code spans of each cell, row by row, without the header. */
const tableOf = (heading: string): string[][][] =>
	sectionOf(heading)
		.split("\n")
		.filter((line) => line.startsWith("|"))
		.slice(2)
		.map((line) =>
			line
				.split("|")
				.slice(1, -1)
				.map((cell) => spansOf(cell)),
		);

const spansOf = (text: string): string[] => [...text.matchAll(/`([^`\n]+)`/g)].map(([, span = ""]) => span);

/** The first code span of a column, row by row. */
const columnOf = (heading: string, column: number): string[] =>
	tableOf(heading).map((cells) => cells.at(column)?.[0] ?? "");

/** The values that a module imports from its own folder and calls, in the order of their first calls. */
function stepsIn(text: string): string[] {
	const imported = [...text.matchAll(/import \{([^}]*)\} from "\.\/[^"]+"/g)]
		.flatMap(([, names = ""]) => names.split(","))
		.map((name) => name.trim())
		.filter((name) => name !== "" && !name.startsWith("type "));
	const body = text.replace(/\/\*.*?\*\/|\/\/.*?$/gms, "").replace(/^import .*?;$/gms, "");
	const firstCall = (name: string): number => body.search(new RegExp(`\\b${name}(\\.\\w+)?\\(`));
	return imported.filter((name) => firstCall(name) >= 0).sort((a, b) => firstCall(a) - firstCall(b));
}

const isExported = (name: string, file: string): boolean =>
	new RegExp(`^export (async )?(function|const|class) ${name}\\b`, "m").test(readFileSync(file, "utf8"));

describe("folders", () => {
	it("are those of the layers, in their order", () => {
		expect(tableOf("Folders").map(([folders]) => folders)).toEqual(LAYERS);
	});
});

describe("steps", () => {
	const rows = ["HTTP", "Pipeline", "Preparation", "Answer", "Dispatch"].flatMap((heading) => {
		const exports = columnOf(heading, -3);
		return columnOf(heading, -1).map((file, index) => ({ name: exports[index] ?? "", file }));
	});

	it("are found", () => {
		expect(rows.length).toBeGreaterThan(20);
	});

	it.each(rows)("$name is an export of $file", ({ name, file }) => {
		expect(isExported(name, file)).toBe(true);
	});

	it("of the pipeline are in the order of `run`", () => {
		expect(columnOf("Pipeline", 0)).toEqual(stepsIn(sourceOf("run.ts")));
	});

	it("of the preparation are in the order of `prepare`", () => {
		const explained = [
			...sourceOf("explain.ts").matchAll(/recorder\.run\("(\w+)", (?:async )?\(\) =>\s*(\w+)\(/g),
		].map(([, step, name]) => [step, name]);
		expect(tableOf("Preparation").map(([step, name]) => [step?.[0], name?.[0]])).toEqual(explained);
		const [, body = ""] = /async function prepare\(([\s\S]*?)\n}\n/.exec(sourceOf("prepare.ts")) ?? [];
		const names = explained.map(([, name]) => name);
		expect(
			[...body.matchAll(/\b(\w+)\(/g)].map(([, name]) => name).filter((name) => names.includes(name)),
		).toEqual(names);
	});

	it("of the answer are in the order of `answer`", () => {
		expect(columnOf("Answer", 0)).toEqual(stepsIn(sourceOf("answer.ts")));
	});

	it("of the dispatch are in the order of `dispatch`", () => {
		// It runs when the stream has ended.
		const notSteps = ["recordStreamEnd"];
		const steps = stepsIn(sourceOf("dispatch.ts")).filter((name) => !notSteps.includes(name));
		expect(columnOf("Dispatch", 0)).toEqual(steps);
	});

	it("are read from the code", () => {
		expect(
			stepsIn(`import { b } from "./b.ts";
import { type A, a } from "./a.ts";
import { c } from "./c.ts";

// c(
export const all = async () => b(await a.create());
`),
		).toEqual(["b", "a"]);
	});
});

describe("the exchange", () => {
	it("has the states of the diagram", () => {
		const [, states = ""] = sourceOf("exchange.ts").match(/type ExchangeState = ([^;]+);/) ?? [];
		const drawn = sectionOf("The exchange").matchAll(/^ +(\w+) --> (\w+)/gm);
		expect(new Set([...drawn].flatMap(([, from, to]) => [from, to]))).toEqual(
			new Set([...states.matchAll(/"(\w+)"/g)].map(([, state]) => state)),
		);
	});

	it("has the observers that the page names", () => {
		const exported = readFileSync("src/telemetry/exchange-observer.ts", "utf8").matchAll(
			/^export const (\w+Observer)\b/gm,
		);
		const named = spansOf(sectionOf("The exchange")).filter((span) => span.endsWith("Observer"));
		expect(named).toEqual([...exported].map(([, name]) => name));
	});
});

describe("paths", () => {
	const paths = [...new Set(spansOf(PAGE.replace(/^```.*?^```/gms, "")))].filter((span) =>
		/^(src|test|scripts)\//.test(span),
	);

	it("are found", () => {
		expect(paths.length).toBeGreaterThan(30);
	});

	it.each(paths)("%s exists", (path) => {
		expect(existsSync(path)).toBe(true);
	});
});
