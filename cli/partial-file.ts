/** Files that are complete, or do not exist. */
import { existsSync } from "node:fs";
import { type FileHandle, open, readdir, rename, rm } from "node:fs/promises";
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

/** By folder: what processes have left there that were killed, by the name of the file. A folder with many files is listed once. */
const abandoned = new Map<string, Promise<ReadonlyMap<string, string[]>>>();

async function removeAbandoned(file: string): Promise<void> {
	const folder = dirname(file);
	const known = abandoned.get(folder) ?? abandonedIn(folder);
	abandoned.set(folder, known);
	for (const name of (await known).get(basename(file)) ?? []) await rm(join(folder, name), { force: true });
}

async function abandonedIn(folder: string): Promise<ReadonlyMap<string, string[]>> {
	const files = new Map<string, string[]>();
	for (const name of await readdir(folder)) {
		const [, file, pid] = PARTIAL.exec(name) ?? [];
		if (file === undefined || isRunning(Number(pid))) continue;
		files.set(file, [...(files.get(file) ?? []), name]);
	}
	return files;
}

export function refuseExisting(file: string, isOverwritten = false): void {
	if (existsSync(file) && !isOverwritten)
		throw new CommandError(`${file} exists: name another file with --output, or add --overwrite`);
}
