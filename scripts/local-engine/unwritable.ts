/** A folder that cannot be written, as a sentence with the cure. */
import { join, sep } from "node:path";
import { existing } from "../disk.ts";
import { cannotBeWritten } from "../file-failure.ts";
import { writeFailure } from "../write-failure.ts";
import { LocalProblem } from "./problem.ts";

interface FileFailure extends Error {
	code: string;
	path: string;
	syscall?: string;
}

/** Of the owner, the rights, the disk, or a file where a folder should be. */
const CODES: ReadonlySet<string> = new Set("EACCES EDQUOT EEXIST ENOSPC ENOTDIR EPERM EROFS".split(" "));

const isFileFailure = (error: unknown): error is FileFailure =>
	error instanceof Error &&
	"code" in error &&
	typeof error.code === "string" &&
	"path" in error &&
	typeof error.path === "string";

/** The sentence about a folder before anything is written into it. It need not exist. Absent: it can be written. */
export async function folderProblem(folder: string, setting: string): Promise<string | undefined> {
	const path = existing(folder);
	const failure = await writeFailure(path);
	return failure && cannotBeWritten(path, failure, setting);
}

/** `setting`: the variable with the folder. Another failure is returned as it is. */
export function unwritable(error: unknown, folder: string, setting: string): unknown {
	if (!isFileFailure(error)) return error;
	const { code, path, syscall } = error;
	const isAbove = syscall === "mkdir" && join(folder, sep).startsWith(join(path, sep));
	const isBelow = join(path, sep).startsWith(join(folder, sep));
	// Some folders of the system, such as `/proc`, have no place for others.
	const isNoPlace = syscall === "mkdir" && code === "ENOENT";
	if (!(isAbove || isBelow) || !(isNoPlace || CODES.has(code))) return error;
	return new LocalProblem("no_room", cannotBeWritten(path, error, setting), { cause: error });
}
