/**
 * The folder of weights, which all projects of a user share:
 *
 *     {folder}/{owner}/{repository}/manifest.json
 *     {folder}/{owner}/{repository}/{revision}/{file}
 *
 * A file gets its name when it is complete and its hash is correct. The manifest has the revision, the sizes and the hashes. It stays
 * when the files are removed, so that the next download gets the same files.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { makeFolder } from "../make-folder.ts";
import {
	FileName,
	GitBlob,
	ONNX_FOLDER,
	Repository,
	Revision,
	Sha256,
	WEIGHTS,
	type Weights,
} from "./table.ts";

/** The environment variable with the folder. */
export const FOLDER_SETTING = "GANGLION_MODELS";
const MANIFEST = "manifest.json";
/** Ends the name of a file that is not complete. */
export const PARTIAL = ".part";
/** Ends the name of the file that a download holds. */
export const LOCK = ".lock";

const HashedFile = z.object({ name: FileName, size: z.int().positive(), sha256: Sha256 });
/** A small file, which the hub keeps in Git. */
const GitFile = z.object({ name: FileName, size: z.int().positive(), blob: GitBlob });

export const ManifestSchema = z.object({
	repository: Repository,
	revision: Revision,
	files: z.array(z.union([HashedFile, GitFile])).min(1),
});
export type Manifest = z.output<typeof ManifestSchema>;
export type StoredFile = Manifest["files"][number];

type Environment = Readonly<Record<string, string | undefined>>;

export function modelsFolder(env: Environment): string {
	const set = env[FOLDER_SETTING];
	if (set) return resolve(set);
	const cache = env.XDG_CACHE_HOME || join(homedir(), ".cache");
	return join(cache, "ganglion", "models");
}

const folderOf = (folder: string, repository: string): string => join(folder, ...repository.split("/"));

export const fileOf = (folder: string, { repository, revision }: Manifest, name: string): string =>
	join(folderOf(folder, repository), revision, name);

/** Absent, or unreadable: as if nothing was downloaded yet. */
export function readManifest(folder: string, { repository, files }: Weights): Manifest | undefined {
	try {
		const text = readFileSync(join(folderOf(folder, repository), MANIFEST), "utf8");
		const manifest = ManifestSchema.parse(JSON.parse(text));
		const hasAll = files.every(({ name }) => manifest.files.some((file) => file.name === name));
		return hasAll && manifest.repository === repository ? manifest : undefined;
	} catch {
		return undefined;
	}
}

export function writeManifest(folder: string, manifest: Manifest): void {
	const file = join(folderOf(folder, manifest.repository), MANIFEST);
	makeFolder(dirname(file));
	const temporary = `${file}.${process.pid}`;
	writeFileSync(temporary, `${JSON.stringify(manifest, undefined, "\t")}\n`);
	renameSync(temporary, file);
}

/** Bytes. 0 if there is no such file. */
export const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** Weights whose files are complete. */
export interface PresentWeights {
	weights: Weights;
	manifest: Manifest;
	/** Bytes of all files. */
	size: number;
	/** Path of a file. */
	path(name: string): string;
}

/** Compares sizes. The hashes were compared when the files were written. */
export function presentWeights(folder: string, weights: Weights): PresentWeights | undefined {
	const manifest = readManifest(folder, weights);
	if (!manifest) return undefined;
	const path = (name: string): string => fileOf(folder, manifest, name);
	const files = manifest.files.filter(({ name }) => weights.files.some((file) => file.name === name));
	if (files.some(({ name, size }) => sizeOf(path(name)) !== size)) return undefined;
	return { weights, manifest, path, size: files.reduce((sum, { size }) => sum + size, 0) };
}

export const allPresent = (folder: string): PresentWeights[] =>
	WEIGHTS.flatMap((row) => presentWeights(folder, row) ?? []);

/** Deletes the files, and keeps the manifest. Returns the bytes that are free now. */
export function removeWeights(folder: string, { repository }: Weights): number {
	const revisions = foldersIn(folderOf(folder, repository));
	const bytes = revisions.flatMap(filesOf).reduce((sum, file) => sum + sizeOf(file), 0);
	for (const revision of revisions) rmSync(revision, { recursive: true });
	return bytes;
}

/**
 * Deletes files that no row of the table needs: partial files that no process writes, and those of older revisions. Only in folders with a
 * manifest, because the folder may have other files. `isHeld`: whether a process writes the file. Returns the deleted files.
 */
export function pruneStore(
	folder: string,
	isHeld: (file: string) => boolean,
): { path: string; bytes: number }[] {
	const used = new Set(
		allPresent(folder).flatMap(({ manifest, path }) => manifest.files.map(({ name }) => path(name))),
	);
	const removed: { path: string; bytes: number }[] = [];
	for (const repository of foldersIn(folder).flatMap(foldersIn)) {
		if (!isOwn(folder, repository)) continue;
		for (const revision of foldersIn(repository)) {
			for (const path of filesOf(revision)) {
				const file = path.slice(0, path.length - (ENDINGS.find((end) => path.endsWith(end)) ?? "").length);
				if (used.has(path) || isHeld(file)) continue;
				removed.push({ path, bytes: sizeOf(path) });
				rmSync(path);
			}
			for (const path of [join(revision, ONNX_FOLDER), revision])
				if (entriesOf(path).length === 0) rmSync(path, { recursive: true, force: true });
		}
	}
	return removed;
}

const ENDINGS: readonly string[] = [PARTIAL, LOCK];

/** Whether the folder of a repository has a manifest. */
function isOwn(folder: string, path: string): boolean {
	try {
		const { repository } = ManifestSchema.parse(JSON.parse(readFileSync(join(path, MANIFEST), "utf8")));
		return folderOf(folder, repository) === path;
	} catch {
		return false;
	}
}

const entriesOf = (folder: string) => {
	try {
		return readdirSync(folder, { withFileTypes: true });
	} catch {
		return [];
	}
};

const foldersIn = (folder: string): string[] =>
	entriesOf(folder).flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []));

/** Of a revision. */
const filesOf = (revision: string): string[] => [revision, ...foldersIn(revision)].flatMap(filesIn);

const filesIn = (folder: string): string[] =>
	entriesOf(folder).flatMap((entry) => (entry.isFile() ? [join(folder, entry.name)] : []));
