/** Creates a folder and those above it. Node's own recursive creation never returns where none can be created, such as below `/proc`. */
import * as fs from "node:fs";
import { dirname } from "node:path";
import { codeOf } from "./file-failure.ts";

interface Disk {
	mkdirSync(path: string, mode?: number): void;
	statSync(path: string, options: { throwIfNoEntry: false }): { isDirectory(): boolean } | undefined;
}

const isFolder = (path: string, disk: Disk): boolean =>
	disk.statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** `mode`: of each new folder. */
export function makeFolder(folder: string, mode?: number, disk: Disk = fs): void {
	if (isFolder(folder, disk)) return;
	try {
		makeOne(folder, mode, disk);
	} catch (error) {
		const above = dirname(folder);
		// A drive that does not exist has nothing above it.
		if (codeOf(error) !== "ENOENT" || above === folder) throw error;
		makeFolder(above, mode, disk);
		makeOne(folder, mode, disk);
	}
}

/** Another process may create it at the same time. */
function makeOne(folder: string, mode: number | undefined, disk: Disk): void {
	try {
		disk.mkdirSync(folder, mode);
	} catch (error) {
		if (!isFolder(folder, disk)) throw error;
	}
}
