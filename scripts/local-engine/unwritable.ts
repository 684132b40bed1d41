/** A folder that cannot be written, as a sentence with the cure. */
import { join, sep } from "node:path";
import { LocalProblem } from "./problem.ts";

interface FileFailure extends Error {
	code: string;
	path: string;
}

/** Of the owner, the rights, the disk's mount, or a file where a folder should be. */
const CODES: ReadonlySet<string> = new Set(["EACCES", "EEXIST", "ENOTDIR", "EPERM", "EROFS"]);

const isFileFailure = (error: unknown): error is FileFailure =>
	error instanceof Error &&
	"code" in error &&
	typeof error.code === "string" &&
	"path" in error &&
	typeof error.path === "string";

/** `setting`: the variable with the folder. Another failure is returned as it is. */
export function unwritable(error: unknown, folder: string, setting: string): unknown {
	if (!isFileFailure(error)) return error;
	const { code, path } = error;
	const isBelow = path === folder || path.startsWith(join(folder, sep));
	if (!isBelow || !CODES.has(code)) return error;
	return new LocalProblem(
		"no_room",
		`${path} cannot be written (${code}): change its owner or its rights, or set ${setting} to another folder`,
		{ cause: error },
	);
}
