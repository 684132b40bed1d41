/** Files that are complete, or do not exist. */
import { existsSync } from "node:fs";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
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

export function refuseExisting(file: string, isOverwritten = false): void {
	if (existsSync(file) && !isOverwritten)
		throw new CommandError(`${file} exists: name another file with --output, or add --overwrite`);
}
