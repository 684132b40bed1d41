/**
 * Downloads one file. A part that an earlier download left is continued. The file gets its name only if its size and its hash are
 * correct. One process at a time writes a file (`lock.ts`); others wait for it.
 */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf, isDiskFull } from "../file-failure.ts";
import { makeFolder } from "../make-folder.ts";
import { holdFile } from "./lock.ts";
import { LocalProblem } from "./problem.ts";
import { sizeText } from "./progress.ts";
import type { Source } from "./source.ts";
import { type Manifest, PARTIAL, type StoredFile, sizeOf } from "./store.ts";

/** Tries without a byte after a connection that had brought some. */
const MAX_FRUITLESS_TRIES = 3;
const RETRY_MS = 1_000;

interface Download {
	source: Source;
	manifest: Manifest;
	file: StoredFile;
	/** Of the complete file. */
	path: string;
	signal: AbortSignal;
	/** Bytes of this file that are on the disk. */
	report(done: number): void;
}

/** `checkHash`: also compares the hash of a file that is complete already. */
export async function downloadFile(download: Download, { checkHash = false } = {}): Promise<void> {
	const { path, file, signal, report } = download;
	makeFolder(dirname(path));
	const partial = path + PARTIAL;
	const release = await holdFile(path, { signal, waiting: () => report(sizeOf(partial)) });
	try {
		if (sizeOf(path) === file.size && (!checkHash || (await hashOf(path, file)) === expectedOf(file)))
			return report(file.size);
		await fetchFile(download, partial);
		await rename(partial, path);
	} catch (error) {
		throw isDiskFull(codeOf(error)) ? fullDisk(download) : error;
	} finally {
		release();
	}
}

/** The hash that the list of the hub states. */
export const expectedOf = (file: StoredFile): string => ("sha256" in file ? file.sha256 : file.blob);

const startHash = (file: StoredFile): Hash =>
	"sha256" in file ? createHash("sha256") : createHash("sha1").update(`blob ${file.size}\0`);

/** Of the file at the path, as {@link expectedOf} has it. */
export async function hashOf(path: string, file: StoredFile): Promise<string> {
	const hash = startHash(file);
	await addFile(hash, path);
	return hash.digest("hex");
}

async function addFile(hash: Hash, path: string): Promise<void> {
	for await (const piece of createReadStream(path)) hash.update(piece);
}

async function fetchFile(download: Download, partial: string): Promise<void> {
	const { file, source } = download;
	if (sizeOf(partial) > file.size) await rm(partial);
	const { hash, isJoined } = await fetchPart(download, partial);
	if (hash === expectedOf(file)) return;
	await rm(partial);
	// One of its parts may be of another file.
	if (isJoined && (await fetchPart(download, partial)).hash === expectedOf(file)) return;
	await rm(partial, { force: true });
	throw new LocalProblem(
		"weights_unavailable",
		`${file.name} of ${source.name} is not the file that was expected (its ${"sha256" in file ? "SHA-256" : "SHA-1"} differs), so it was deleted. Try again, or use another source (GANGLION_HUB)`,
	);
}

/** Returns the hash of the complete file. `isJoined`: its parts are of several answers. */
async function fetchPart(
	{ source, manifest, file, signal, report }: Download,
	partial: string,
): Promise<{ hash: string; isJoined: boolean }> {
	let hash = startHash(file);
	if (sizeOf(partial) > 0) await addFile(hash, partial);
	const target = await open(partial, "a");
	try {
		let done = sizeOf(partial);
		let fruitless = 0;
		let hasProgress = false;
		let isJoined = done > 0;
		while (done < file.size) {
			const before = done;
			try {
				const part = await source.open(manifest, file, done, signal);
				if (part.from < done) {
					await target.truncate(0);
					hash = startHash(file);
					done = 0;
				}
				isJoined = done > 0;
				for await (const piece of part.bytes) {
					done += piece.length;
					if (done > file.size) throw tooLong(file, source);
					await writeAll(target, piece);
					hash.update(piece);
					hasProgress = true;
					report(done);
				}
				if (done < file.size) throw cutOff(file, source, done);
			} catch (error) {
				fruitless = done > before ? 0 : fruitless + 1;
				const isFinal = !hasProgress || fruitless >= MAX_FRUITLESS_TRIES || !isTransient(error);
				if (signal.aborted || isFinal) throw error;
				if (fruitless > 0) await wait(RETRY_MS, undefined, { signal });
			}
		}
		await target.sync();
		return { hash: hash.digest("hex"), isJoined };
	} finally {
		await target.close();
	}
}

async function writeAll(target: FileHandle, piece: Uint8Array): Promise<void> {
	let written = 0;
	while (written < piece.length) written += (await target.write(piece, written)).bytesWritten;
}

const isTransient = (error: unknown): boolean =>
	error instanceof LocalProblem && error.code === "weights_unavailable";

const cutOff = ({ name, size }: StoredFile, source: Source, done: number): LocalProblem =>
	new LocalProblem(
		"weights_unavailable",
		`${source.name} ended ${name} after ${sizeText(done)} of ${sizeText(size)}. Try again: the part is kept`,
	);

/** Not transient: it would repeat. */
const tooLong = ({ name, size }: StoredFile, source: Source): Error =>
	new LocalProblem(
		"weights_unreadable",
		`${source.name} sent more than the ${sizeText(size)} of ${name}, so it is another file. Use another source (GANGLION_HUB)`,
	);

const fullDisk = ({ path, file }: Download): LocalProblem =>
	new LocalProblem(
		"no_room",
		`The disk of ${dirname(path)} is full, so ${basename(path)} (${sizeText(file.size)}) is not complete: make space and try again, the part is kept`,
	);
