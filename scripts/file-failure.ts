/** Why a file or a folder cannot be used, as a part of a sentence. Node's own messages are for programmers. */

const REASONS: Readonly<Record<string, string>> = {
	EACCES: "this user has no right to it",
	EDQUOT: "the quota of the disk is used up",
	EEXIST: "a file has this name, where a folder is needed",
	EISDIR: "a folder has this name, where a file is needed",
	ELOOP: "its links lead in a circle",
	ENAMETOOLONG: "its name is too long",
	ENOENT: "nothing can be created there",
	ENOSPC: "the disk is full",
	ENOTDIR: "a part of the path is a file, where a folder is needed",
	EPERM: "this user has no right to it",
	EROFS: "the disk is read-only",
};

/** Empty if the error has none. */
export const codeOf = (error: unknown): string =>
	error instanceof Error && "code" in error ? String(error.code) : "";

/** `code`: of an error of the system. */
export const isDiskFull = (code: string): boolean => code === "ENOSPC" || code === "EDQUOT";

/** With the code of the system. The message of any other error. */
export function fileFailure(error: unknown): string {
	const code = codeOf(error);
	const reason = REASONS[code];
	if (reason !== undefined) return `${reason} (${code})`;
	return error instanceof Error ? error.message : String(error);
}
