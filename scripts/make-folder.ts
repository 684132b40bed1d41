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
		mkdirSync(folder, mode);
	} catch (error) {
		// Another process may have created it.
		if (isFolder(folder)) return;
		const above = dirname(folder);
		if (codeOf(error) !== "ENOENT" || isFolder(above)) throw error;
		makeFolder(above, mode);
		mkdirSync(folder, mode);
	}
}
