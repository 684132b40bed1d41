/**
 * `ganglion backup`: a copy of a gateway's state, also while it runs. SQLite itself copies each database, so each account is
 * consistent in itself, at its own time. A plain copy of the files may be inconsistent.
 */
import { existsSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileFailure } from "../../scripts/file-failure.ts";
import { makeFolder } from "../../scripts/make-folder.ts";
import { stopWith } from "../../scripts/stop-with.ts";

/** `state`, `to`: absolute paths. */
export async function backupCommand({ state, to }: { state: string; to: string }): Promise<number> {
	const objects = join(state, "objects");
	if (!existsSync(objects)) stopWith(`--state: ${state} holds no state of a gateway`);
	if (existsSync(to)) stopWith(`--to: ${to} exists: name a new folder`);
	const { backup, DatabaseSync } = await import("node:sqlite").catch(unsupported);
	// Node 22.5 to 22.15 have the module without the function.
	if (typeof backup !== "function") unsupported();

	// Renamed at the end: a folder with the final name is complete.
	const unfinished = `${to}.unfinished`;
	rmSync(unfinished, { recursive: true, force: true });
	let count = 0;
	for (const name of readdirSync(objects, { recursive: true, encoding: "utf8" })) {
		if (!name.endsWith(".sqlite")) continue;
		const file = join(objects, name);
		const target = join(unfinished, relative(state, file));
		try {
			makeFolder(dirname(target), 0o700);
		} catch (error) {
			stopWith(`--to: ${unfinished} cannot be created: ${fileFailure(error)}`);
		}
		const source = new DatabaseSync(file, { readOnly: true });
		try {
			await backup(source, target);
		} catch (error) {
			stopWith(`${file} cannot be copied: ${error instanceof Error ? error.message : error}`);
		} finally {
			source.close();
		}
		count++;
	}
	renameSync(unfinished, to);
	console.log(`${count} databases are copied to ${to}`);
	return 0;
}

const unsupported = (): never =>
	stopWith(
		`backup needs Node 22.16 or newer, because older ones cannot copy a database in use (this is ${process.version})`,
	);
