/** The disk of a folder. */
import { existsSync, type StatsFs, statfsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./file-failure.ts";

/** Bytes. */
export interface Disk {
	total: number;
	/** For this user. */
	free: number;
}

/** The folder does not exist, or this user may not reach it. The disk is that of the folder above. */
const UNREACHED: ReadonlySet<string> = new Set(["EACCES", "ENOENT", "ENOTDIR"]);

/** The folder need not exist. Blocks the process while the disk hangs: only for a start. */
export const diskOf = (folder: string): Disk => diskFrom(statfsSync(existing(folder)));

/** As {@link diskOf}, without blocking the process. */
export async function readDisk(folder: string): Promise<Disk> {
	try {
		return diskFrom(await statfs(folder));
	} catch (error) {
		const parent = dirname(folder);
		if (!UNREACHED.has(codeOf(error)) || parent === folder) throw error;
		return readDisk(parent);
	}
}

/** The folder, or the first one above it that exists. */
export function existing(folder: string): string {
	return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder));
}

/** The system may keep blocks for its own user. */
const diskFrom = ({ bavail, bfree, blocks, bsize }: StatsFs): Disk => ({
	total: (blocks - bfree + bavail) * bsize,
	free: bavail * bsize,
});
