/**
 * The weights of a project, so that another machine gets the same files: `ganglion models lock` writes this file, which belongs into the
 * project's repository, and each download obeys it.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { expectedOf, hashOf } from "./download.ts";
import { LocalProblem } from "./problem.ts";
import { type Manifest, ManifestSchema, type PresentWeights, type StoredFile } from "./store.ts";
import { findWeights, type Weights } from "./table.ts";

/** In the folder of the project. */
export const PROJECT_LOCK = "ganglion-models-lock.json";

const LockSchema = z.object({ models: z.record(z.string().max(256), ManifestSchema) });

/** By the name of the weights. */
export type ProjectLock = ReadonlyMap<string, Manifest>;

/** `now`: epoch milliseconds. Empty without the file. Throws a problem if the file has something else than `lock` writes. */
export function readProjectLock(project: string, now: number): ProjectLock {
	const path = join(project, PROJECT_LOCK);
	if (!existsSync(path)) return new Map();
	const { data, error } = LockSchema.safeParse(jsonIn(path));
	if (!data) throw unusable(path, z.prettifyError(error));
	const locked = Object.entries(data.models).map(([name, manifest]): [string, Manifest] => {
		const weights = findWeights(name, now);
		if (!weights) throw unusable(path, `no weights are known for ${name}`);
		if (manifest.repository !== weights.repository)
			throw unusable(
				path,
				`${name} is in the repository ${weights.repository}, not in ${manifest.repository}`,
			);
		for (const file of weights.files)
			if (!manifest.files.some((one) => one.name === file.name))
				throw unusable(path, `${name} has no file ${file.name}`);
		return [weights.name, manifest];
	});
	return new Map(locked);
}

/** Adds the weights to those that the file names, or replaces them. Returns the path of the file. */
export function writeProjectLock(
	project: string,
	earlier: ProjectLock,
	present: readonly PresentWeights[],
): string {
	const path = join(project, PROJECT_LOCK);
	const all = new Map(earlier);
	for (const { weights, manifest } of present)
		all.set(weights.name, { ...manifest, files: filesOf(weights, manifest) });
	const models = Object.fromEntries([...all].sort(([one], [other]) => (one < other ? -1 : 1)));
	const temporary = `${path}.${process.pid}`;
	writeFileSync(temporary, `${JSON.stringify({ models }, undefined, "\t")}\n`);
	renameSync(temporary, path);
	return path;
}

/** Throws a problem if the files of this machine are others than those that the project names. */
export async function checkLocked(
	{ weights, manifest, path }: PresentWeights,
	locked: Manifest,
): Promise<void> {
	for (const file of filesOf(weights, locked)) {
		const here = manifest.files.find(({ name }) => name === file.name);
		if (here && (await isSame(here, file, path(file.name)))) continue;
		throw new LocalProblem(
			"weights_unavailable",
			`${file.name} of ${weights.name} is not the file that ${PROJECT_LOCK} names (revision ${locked.revision}; here: ${manifest.revision}). To get that one, run: npx ganglion models rm ${weights.name}, then: npx ganglion models pull ${weights.name}. To name the one that is here, run: npx ganglion models lock ${weights.name}`,
		);
	}
}

/** A repository may have files for other weights. */
const filesOf = (weights: Weights, { files }: Manifest): StoredFile[] =>
	files.filter(({ name }) => weights.files.some((file) => file.name === name));

/** A folder states the SHA-256 of each file, and a hub the name in Git of a small one. */
async function isSame(here: StoredFile, wanted: StoredFile, path: string): Promise<boolean> {
	if (here.size !== wanted.size) return false;
	const isSameKind = "sha256" in here === "sha256" in wanted;
	return (isSameKind ? expectedOf(here) : await hashOf(path, wanted)) === expectedOf(wanted);
}

function jsonIn(path: string): unknown {
	const text = readFileSync(path, "utf8");
	try {
		return JSON.parse(text);
	} catch (error) {
		throw unusable(path, error instanceof Error ? error.message : String(error));
	}
}

const unusable = (path: string, reason: string): LocalProblem =>
	new LocalProblem(
		"weights_unavailable",
		`${path}: expected what npx ganglion models lock writes, found another file: ${reason}`,
	);
