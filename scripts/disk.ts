/** The disk of a folder. */
import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";

/** Bytes. */
export interface Disk {
	total: number;
	/** For this user. */
	free: number;
}

/** The folder need not exist. */
export function diskOf(folder: string): Disk {
	const { bavail, bfree, blocks, bsize } = statfsSync(existing(folder));
	// The system may keep blocks for its own user.
	return { total: (blocks - bfree + bavail) * bsize, free: bavail * bsize };
}

/** The folder, or the first one above it that exists. */
export function existing(folder: string): string {
	return existsSync(folder) || dirname(folder) === folder ? folder : existing(dirname(folder));
}
