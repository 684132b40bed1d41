/** A folder that cannot be written, as a sentence with the cure. */
import { LocalProblem } from "./problem.ts";

interface FileFailure extends Error {
	code: string;
	path: string;
}

const isFileFailure = (error: unknown): error is FileFailure =>
	error instanceof Error &&
	"code" in error &&
	typeof error.code === "string" &&
	"path" in error &&
	typeof error.path === "string";

/** `setting`: the variable with the folder. Another failure is returned as it is. */
export function unwritable(error: unknown, folder: string, setting: string): unknown {
	if (!isFileFailure(error) || !error.path.startsWith(folder)) return error;
	const { code, path } = error;
	return new LocalProblem(
		"no_room",
		`${path} cannot be written (${code}): change its owner or its rights, or set ${setting} to another folder`,
		{ cause: error },
	);
}
