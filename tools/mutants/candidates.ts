/** The mutants of an area, the equivalent ones among them, and the tests of each source. */
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../../scripts/root.ts";
import { AREAS, EXCLUDED, WIDE_TESTS } from "./areas.ts";
import { type Mutant, mutantsOf } from "./operators.ts";
import { TESTS_OF } from "./tests-of.ts";

export interface Candidate extends Mutant {
	file: string;
	/** The text of the file. */
	source: string;
	/** In stages, each of which runs if the ones before find no bug: the mirrored test files, those of the folder and of the area, all others. */
	tests: readonly (readonly string[])[];
}

/** The mirrored tests, and those of the folder and of the area. */
export const NEAR_STAGES = 2;

/** A mutant with the same behaviour as the source. It is identified by its text, so other edits of the file have no effect. */
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
	const ofArea = testFiles(AREAS[area]?.tests ?? []);
	const wide = WIDE_TESTS.map(testFiles);
	return sourcesOf(area).flatMap((file) => {
		const source = readFileSync(join(ROOT, file), "utf8");
		const mirrored = mirroredTests(file);
		const tests = withoutRepeats([mirrored, [...folderTests(file), ...ofArea], ...wide]);
		return mutantsOf(file, source).map((mutant) => ({ ...mutant, file, source, tests }));
	});
}

/** Each test is in the first stage that names it. */
function withoutRepeats(stages: readonly (readonly string[])[]): string[][] {
	const seen = new Set<string>();
	return stages.map((stage) => {
		const fresh = [...new Set(stage)].filter((test) => !seen.has(test));
		for (const test of fresh) seen.add(test);
		return fresh;
	});
}

function sourcesOf(area: string): string[] {
	if (!AREAS[area]) return filesIn([area.endsWith(".ts") ? area : `${area}/**/*.ts`]);
	const assigned = new Set<string>();
	for (const [name, { sources }] of Object.entries(AREAS)) {
		const files = filesIn(sources).filter((file) => !assigned.has(file));
		if (name === area) return files;
		for (const file of files) assigned.add(file);
	}
	return [];
}

const filesIn = (patterns: readonly string[]): string[] =>
	[...new Set(globSync([...patterns], { cwd: ROOT, exclude: [...EXCLUDED, "**/*.d.ts"] }))].sort();

/**
 * Chooses up to `count` mutants with equal probability; all of them if `count` is 0. The rank of a mutant depends only on the seed
 * and its own line, so edits of other lines do not change the sample.
 */
export function choose(all: readonly Candidate[], count: number, seed: number): Candidate[] {
	if (count === 0 || count >= all.length) return [...all];
	const duplicates = new Map<string, number>();
	const ranked = all.map((mutant) => {
		const { file, source, line, original, replacement } = mutant;
		const key = JSON.stringify([seed, file, linesUpTo(source, line, 1), original, replacement]);
		const number = duplicates.get(key) ?? 0;
		duplicates.set(key, number + 1);
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

/** `count` lines that end with this line number, without indentation. */
const linesUpTo = (source: string, line: number, count: number): string =>
	source
		.split("\n")
		.slice(Math.max(0, line - count), line)
		.map((text) => text.trim())
		.join("\n");

export const EQUIVALENTS: readonly Equivalent[] = JSON.parse(
	readFileSync(join(ROOT, "tools/mutants/equivalent.json"), "utf8"),
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

/** The test files of a source: the listed ones, those with its name, in a folder with its name, or in its folder. */
function mirroredTests(file: string): readonly string[] {
	const listed = TESTS_OF[file];
	if (listed) return listed;
	const path = file.replace(/^src\//, "test/").replace(/\.ts$/, "");
	const named = testFiles([`${path}.test.ts`, `${path}-*.test.ts`, `${path}/*.test.ts`]);
	if (named.length > 0) return named;
	return folderTests(file);
}

function folderTests(file: string): readonly string[] {
	const folder = dirname(file).replace(/^src\//, "test/");
	return testFiles([`${folder}/*.test.ts`, `${folder}.test.ts`]);
}

const testFiles = (patterns: readonly string[]): string[] => globSync([...patterns], { cwd: ROOT }).sort();
