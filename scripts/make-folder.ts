/** Creates a folder and those above it. Node's own recursive creation never returns where none can be created, such as below `/proc`. */
import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

const codeOf = (error: unknown): unknown =>
	error instanceof Error && "code" in error ? error.code : undefined;

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** `mode`: of each new folder. */
export function makeFolder(folder: string, mode?: number): void {
	if (isFolder(folder)) return;
	try {
		makeOne(folder, mode);
	} catch (error) {
		const above = dirname(folder);
		// A drive that does not exist has nothing above it.
		if (codeOf(error) !== "ENOENT" || above === folder) throw error;
		makeFolder(above, mode);
		makeOne(folder, mode);
	}
}

/** Another process may create it at the same time. */
function makeOne(folder: string, mode: number | undefined): void {
	try {
		mkdirSync(folder, mode);
	} catch (error) {
		if (!isFolder(folder)) throw error;
	}
}
