/** Whether a file can be written in a folder. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** A page of a database. */
const PROBE_BYTES = 4_096;

/**
 * The error of the system if no file can be written. Only a write finds all reasons: rights, a disk that is read-only, without space, or
 * without room for further files. Never rejects.
 */
export async function writeFailure(folder: string): Promise<NodeJS.ErrnoException | undefined> {
	const file = join(folder, `.ganglion-${process.pid}`);
	try {
		await writeFile(file, Buffer.alloc(PROBE_BYTES));
		return undefined;
	} catch (error) {
		return error as NodeJS.ErrnoException;
	} finally {
		// The system refuses also the removal where it refuses the write.
		await rm(file, { force: true }).catch(() => {});
	}
}
