/**
 * The bytes that requests leave in the state of a gateway. A database counts with its used pages: its write-ahead log has a page of 4 KB for
 * each changed row, but a checkpoint uses its space again after 1,000 pages, so its size does not depend on the number of requests.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const DATABASE = ".sqlite";
/** Belong to a database. */
const HELPER = /\.sqlite-(?:wal|shm)$/;

/** `state`: the folder of the state, of a gateway that writes nothing meanwhile. */
export function storedBytes(state: string): number {
	const copies = mkdtempSync(join(tmpdir(), "ganglion-stored-"));
	try {
		return filesIn(state)
			.filter((name) => !HELPER.test(name))
			.reduce((sum, name) => {
				const path = join(state, name);
				return sum + (name.endsWith(DATABASE) ? usedBytes(path, join(copies, name)) : sizeOf(path));
			}, 0);
	} finally {
		rmSync(copies, { recursive: true, force: true });
	}
}

/** With the write-ahead logs. */
export const bytesOnDisk = (state: string): number =>
	filesIn(state).reduce((sum, name) => sum + sizeOf(join(state, name)), 0);

const filesIn = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: "utf8" });

/** A folder, and a file that was deleted meanwhile, has none. */
function sizeOf(path: string): number {
	const stat = statSync(path, { throwIfNoEntry: false });
	return stat?.isFile() ? stat.size : 0;
}

/** The gateway's process has the database open, so a copy is read. */
function usedBytes(path: string, copy: string): number {
	mkdirSync(dirname(copy), { recursive: true });
	copyFileSync(path, copy);
	if (sizeOf(`${path}-wal`) > 0) copyFileSync(`${path}-wal`, `${copy}-wal`);
	const database = new DatabaseSync(copy);
	try {
		const pages = database
			.prepare(
				"SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
			)
			.get();
		return Number(pages?.bytes);
	} finally {
		database.close();
	}
}
