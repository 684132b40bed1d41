/** Files that are complete, or do not exist. */
import { existsSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isRunning } from "../scripts/child.ts";
import { cannotBeWritten } from "../scripts/file-failure.ts";
import { makeFolder } from "../scripts/make-folder.ts";
import { CommandError } from "./gateway-client.ts";

/** `write` fills a file beside it, which gets the name when it is complete. */
export async function writeComplete(
	file: string,
	write: (handle: FileHandle) => Promise<void>,
): Promise<void> {
	const partial = `${file}.${process.pid}.partial`;
	try {
		makeFolder(dirname(file));
		await removeAbandoned(file);
		const handle = await open(partial, "w");
		try {
			await write(handle);
		} finally {
			await handle.close();
		}
		await rename(partial, file);
	} catch (error) {
		await rm(partial, { force: true });
		if (error instanceof Error && "syscall" in error) throw new CommandError(cannotBeWritten(file, error));
		throw error;
	}
}

const PARTIAL = /^(.+)\.(\d+)\.partial$/s;

/** Milliseconds. Processes in other containers that write to the same volume cannot be seen, and an export writes all the time. */
const ABANDONED_AFTER = 3_600_000;

/** Partial files of ended processes, by folder and by the file's name. */
const abandoned = new Map<string, Promise<ReadonlyMap<string, string[]>>>();

async function removeAbandoned(file: string): Promise<void> {
	const folder = dirname(file);
	const known = abandoned.get(folder) ?? abandonedIn(folder);
	abandoned.set(folder, known);
	for (const name of (await known).get(basename(file)) ?? []) await rm(join(folder, name), { force: true });
}

async function abandonedIn(folder: string): Promise<ReadonlyMap<string, string[]>> {
	const files = new Map<string, string[]>();
	// A folder that can be written and not listed is written.
	for (const name of await readdir(folder).catch(() => [])) {
		const [, file, pid] = PARTIAL.exec(name) ?? [];
		if (file === undefined || isRunning(Number(pid))) continue;
		const written = (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs;
		if (written === undefined || Date.now() - written < ABANDONED_AFTER) continue;
		files.set(file, [...(files.get(file) ?? []), name]);
	}
	return files;
}

export function refuseExisting(file: string, isOverwritten = false): void {
	if (existsSync(file) && !isOverwritten)
		throw new CommandError(`${file} exists: name another file with --output, or add --overwrite`);
}
