/**
 * What a folder of the build was made of. Commands and tests build the Worker many times, and mostly nothing has changed.
 *
 * A package is the version of the lock file, with the contents of those of its files that the build read.
 */
import { createHash } from "node:crypto";
import { readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { ROOT } from "./root.ts";

const RECORD = ".build.json";
const BuildRecord = z.object({
	/** The options of the build. */
	options: z.string(),
	/** Paths below the root. */
	sources: z.array(z.string()),
	/** Of the contents of the sources. */
	digest: z.string(),
	/** Bytes by file name. */
	outputs: z.record(z.string(), z.number()),
	/** The bundled files, as paths below the root. */
	bundled: z.array(z.string()),
});

/**
 * Returns the bundled files if `folder` has this build of these sources, and gives its entry file the present time, which others compare with
 * the times of the sources. Returns `undefined` if it must be built.
 */
export function equalBuild(folder: string, options: string, entry: string): string[] | undefined {
	const record = recordIn(folder);
	if (record?.options !== options) return undefined;
	const isComplete = Object.entries(record.outputs).every(
		([name, bytes]) => statOf(join(folder, name))?.size === bytes,
	);
	if (!isComplete || digestOf(record.sources) !== record.digest) return undefined;
	const now = new Date();
	utimesSync(join(folder, entry), now, now);
	return record.bundled;
}

/** Before the files of the folder change. */
export const forgetBuild = (folder: string): void => rmSync(join(folder, RECORD), { force: true });

/** After they have changed. A source that changed since `startedAt`, in milliseconds, may be in the build or not: then there is no record. */
export function recordBuild(
	folder: string,
	startedAt: number,
	record: { options: string; sources: readonly string[]; outputs: readonly string[]; bundled: string[] },
): void {
	const isChanged = record.sources.some(
		(file) => (statOf(join(ROOT, file))?.mtimeMs ?? Infinity) >= startedAt,
	);
	const digest = digestOf(record.sources);
	if (isChanged || digest === undefined) return;
	const sizes = record.outputs.map((name) => [name, statOf(join(folder, name))?.size]);
	const partial = join(folder, `${RECORD}.${process.pid}`);
	writeFileSync(partial, JSON.stringify({ ...record, digest, outputs: Object.fromEntries(sizes) }));
	renameSync(partial, join(folder, RECORD));
}

/** `undefined` if a file is missing. */
function digestOf(files: readonly string[]): string | undefined {
	const all = createHash("sha256");
	try {
		for (const file of files) {
			const content = readFileSync(join(ROOT, file));
			all.update(`${file} ${createHash("sha256").update(content).digest("hex")}\n`);
		}
	} catch {
		return undefined;
	}
	return all.digest("hex");
}

function recordIn(folder: string): z.output<typeof BuildRecord> | undefined {
	try {
		return BuildRecord.parse(JSON.parse(readFileSync(join(folder, RECORD), "utf8")));
	} catch {
		return undefined;
	}
}

const statOf = (file: string) => statSync(file, { throwIfNoEntry: false });
