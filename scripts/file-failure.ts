/** Why a file or a folder cannot be used, and what helps, as parts of a sentence. Node's own messages are for programmers. */

interface KnownFailure {
	reason: string;
	/** What helps there. Absent: only another place does. */
	cure?: string;
}

const NO_RIGHT: KnownFailure = {
	reason: "this user has no right to it",
	cure: "change its owner or its rights",
};
const isFull = (reason: string): KnownFailure => ({ reason, cure: "make space" });
const isInTheWay = (reason: string): KnownFailure => ({ reason, cure: "move the file away" });

const FAILURES: Readonly<Record<string, KnownFailure>> = {
	EACCES: NO_RIGHT,
	EDQUOT: isFull("the quota of the disk is used up"),
	EEXIST: isInTheWay("a file has this name, where a folder is needed"),
	EISDIR: { reason: "a folder has this name, where a file is needed" },
	ELOOP: { reason: "its links lead in a circle" },
	ENAMETOOLONG: { reason: "its name is too long" },
	ENOENT: { reason: "nothing can be created there" },
	ENOSPC: isFull("the disk is full"),
	ENOTDIR: isInTheWay("a part of the path is a file, where a folder is needed"),
	EPERM: NO_RIGHT,
	EROFS: { reason: "the disk is read-only" },
};

/** Empty if the error has none. */
export const codeOf = (error: unknown): string =>
	error instanceof Error && "code" in error ? String(error.code) : "";

/** The process, or the system, has too many open files: the failure says nothing about the file. */
export const isOutOfFiles = (error: unknown): boolean => ["EMFILE", "ENFILE"].includes(codeOf(error));

/** `code`: of an error of the system. */
export const isDiskFull = (code: string): boolean => code === "ENOSPC" || code === "EDQUOT";

/** With the code of the system. The message of any other error. */
export function fileFailure(error: unknown): string {
	const code = codeOf(error);
	const known = FAILURES[code];
	if (known) return `${known.reason} (${code})`;
	return error instanceof Error ? error.message : String(error);
}

/** As {@link fileFailure}, of a file that is read. */
export const readFailure = (error: unknown): string =>
	codeOf(error) === "ENOENT" ? "there is no such file" : fileFailure(error);

/** A sentence. */
export const cannotBeRead = (path: string, error: unknown): string =>
	`${path} cannot be read: ${readFailure(error)}`;

/** A sentence. `setting`: the variable with the folder, which the cure names. */
export function cannotBeWritten(path: string, error: unknown, setting?: string): string {
	const failure = `${path} cannot be written: ${fileFailure(error)}`;
	if (setting === undefined) return failure;
	const code = codeOf(error);
	const { cure } = FAILURES[code] ?? {};
	const place = isDiskFull(code) ? "a folder on another disk" : "another folder";
	return `${failure}: ${cure === undefined ? "" : `${cure}, or `}set ${setting} to ${place}`;
}
