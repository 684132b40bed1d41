/** Whether a file can be written in a folder. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A page of a database. */
const PROBE_BYTES = 4_096;

/**
 * The error of the system if no file can be written. Only a write finds all reasons: rights, a disk that is read-only, without space, or
 * without room for further files.
 */
export function writeFailure(folder: string): NodeJS.ErrnoException | undefined {
	const file = join(folder, `.ganglion-${process.pid}`);
	try {
		writeFileSync(file, Buffer.alloc(PROBE_BYTES));
		return undefined;
	} catch (error) {
		return error as NodeJS.ErrnoException;
	} finally {
		removeIfPossible(file);
	}
}

/** The system refuses also the removal where it refuses the write. */
export function removeIfPossible(file: string): void {
	try {
		rmSync(file, { force: true });
	} catch {
		// The disk is read-only, or the rights were changed.
	}
}
