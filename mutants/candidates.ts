/** The mutants of an area, which of them are equivalent to the source, and the tests that mirror a source. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../scripts/worker.ts";
import { AREAS, EXCLUDED } from "./areas.ts";
import { type Mutant, mutantsOf } from "./operators.ts";
import { TESTS_OF } from "./tests-of.ts";

export interface Candidate extends Mutant {
	file: string;
	/** The text of the file. */
	source: string;
	/** The test files that mirror it, and others, which run where the former notice nothing. */
	tests: readonly (readonly string[])[];
}

/** A mutant that behaves as the source does. It is found by its text, so that edits elsewhere in the file do not matter. */
export interface Equivalent {
	file: string;
	/** The line of the replaced text without its indentation, and as many lines before it as make it unique. */
	line: string;
	original: string;
	replacement: string;
	reason: string;
}

/** @param area the name of an area, a file, a folder, or a pattern. */
export function candidatesIn(area: string): Candidate[] {
	const wider = testFiles(AREAS[area]?.tests ?? []);
	return sourcesOf(area).flatMap((file) => {
		const source = readFileSync(join(ROOT, file), "utf8");
		const mirrored = mirroredTests(file);
		const tests = [mirrored, wider.filter((test) => !mirrored.includes(test))];
		return mutantsOf(file, source).map((mutant) => ({ ...mutant, file, source, tests }));
	});
}

/** A file that several areas name belongs to the first of them. */
function sourcesOf(area: string): string[] {
	if (!AREAS[area]) return filesIn([area.endsWith(".ts") ? area : `${area}/**/*.ts`]);
	const taken = new Set<string>();
	for (const [name, { sources }] of Object.entries(AREAS)) {
		const files = filesIn(sources).filter((file) => !taken.has(file));
		if (name === area) return files;
		for (const file of files) taken.add(file);
	}
	return [];
}

const filesIn = (patterns: readonly string[]): string[] =>
	[...new Set(globSync([...patterns], { cwd: ROOT, exclude: [...EXCLUDED, "**/*.d.ts"] }))].sort();

/**
 * As many as `count` of them, each with the same probability; all where `count` is 0. A mutant's rank depends on the seed
 * and on its own line only, so that edits elsewhere leave the sample as it is.
 */
export function choose(all: readonly Candidate[], count: number, seed: number): Candidate[] {
	if (count === 0 || count >= all.length) return [...all];
	const alike = new Map<string, number>();
	const ranked = all.map((mutant) => {
		const { file, source, line, original, replacement } = mutant;
		const key = JSON.stringify([seed, file, linesUpTo(source, line, 1), original, replacement]);
		const number = alike.get(key) ?? 0;
		alike.set(key, number + 1);
		return {
			mutant,
			rank: createHash("sha256")
				.update(`${key}${number || ""}`)
				.digest("hex"),
		};
	});
	ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
	return ranked.slice(0, count).map(({ mutant }) => mutant);
}

/** As many lines as `count`, of which the last one has this number, without their indentation. */
const linesUpTo = (source: string, line: number, count: number): string =>
	source
		.split("\n")
		.slice(Math.max(0, line - count), line)
		.map((text) => text.trim())
		.join("\n");

export const EQUIVALENTS: readonly Equivalent[] = JSON.parse(
	readFileSync(join(ROOT, "mutants/equivalent.json"), "utf8"),
);

export const isEquivalent = (mutant: Candidate): boolean =>
	EQUIVALENTS.some((equivalent) => describes(equivalent, mutant));

export function describes(
	equivalent: Equivalent,
	{ file, source, line, original, replacement }: Omit<Candidate, "tests">,
) {
	const lines = linesUpTo(source, line, equivalent.line.split("\n").length);
	return (
		equivalent.file === file &&
		equivalent.original === original &&
		equivalent.replacement === replacement &&
		equivalent.line === lines
	);
}

/** The test files of a source: those that are listed, of its name, in a folder of its name, or in its own folder. */
function mirroredTests(file: string): readonly string[] {
	const listed = TESTS_OF[file];
	if (listed) return listed;
	const place = file.replace(/^src\//, "test/").replace(/\.ts$/, "");
	const own = testFiles([`${place}.test.ts`, `${place}-*.test.ts`, `${place}/*.test.ts`]);
	if (own.length > 0) return own;
	const folder = dirname(place);
	return testFiles([`${folder}/*.test.ts`, `${folder}.test.ts`]);
}

const testFiles = (patterns: readonly string[]): string[] => globSync([...patterns], { cwd: ROOT }).sort();
