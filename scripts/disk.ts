/** The disk of a folder. */
import { existsSync, type StatsFs, statfsSync } from "node:fs";
import { access, statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** Bytes. */
export interface Disk {
	total: number;
	/** For this user. */
	free: number;
}

/** The folder need not exist. Stops the process while the disk hangs: for what has nothing else to do. */
export const diskOf = (folder: string): Disk => diskFrom(statfsSync(existing(folder)));

/** As {@link diskOf}, while the process goes on. */
export async function readDisk(folder: string): Promise<Disk> {
	const parent = dirname(folder);
	const isMissing =
		parent !== folder &&
		(await access(folder).then(
			() => false,
			() => true,
		));
	return isMissing ? readDisk(parent) : diskFrom(await statfs(folder));
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
