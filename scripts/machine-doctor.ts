/** `ganglion doctor`: whether this machine has what a gateway needs: room for the state, the right to write it, and open files. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { diskOf, existing } from "./disk.ts";
import type { Finding } from "./engines/doctor.ts";
import { fileFailure } from "./file-failure.ts";
import { LOW_FILE_LIMIT, openFileLimit } from "./file-limit.ts";

const MEBIBYTE = 1024 * 1024;
/** Below this, accounts and logs of a busy gateway fill the disk within hours. */
const LOW_MEBIBYTES = 1_024;
/** Below this the state cannot be written for long. */
const LEAST_MEBIBYTES = 64;
/** A page of a database. */
const PROBE_BYTES = 4_096;

/** `state`: the folder of the accounts. It need not exist. */
export async function examineMachine(state: string): Promise<Finding[]> {
	const finding = (check: Finding["check"], result: Finding["result"], detail: string): Finding => ({
		...{ backend: "this machine", url: "", check, result, detail },
	});
	const folder = existing(state);
	const free = Math.floor(diskOf(state).free / MEBIBYTE);
	const disk = free < LEAST_MEBIBYTES ? "failed" : free < LOW_MEBIBYTES ? "warning" : "ok";
	const refusal = await writeRefusal(folder);
	const files = openFileLimit();
	return [
		finding(
			"disk",
			disk,
			`${free} MiB are free for ${state}${disk === "ok" ? "" : ": make space (docs/operations.md#a-full-disk)"}`,
		),
		refusal === undefined
			? finding("state", "ok", `${state} can be written`)
			: finding("state", "failed", `${folder} cannot be written: ${refusal}`),
		files < LOW_FILE_LIMIT
			? finding(
					"files",
					"warning",
					`${files} open files are few: raise the limit (docs/self-hosting.md#open-files)`,
				)
			: finding("files", "ok", `${files} open files`),
	];
}

/**
 * The reason why no file can be written. Only a write finds all of them: rights, a disk that is read-only, without space, or without room for
 * further files.
 */
async function writeRefusal(folder: string): Promise<string | undefined> {
	const file = join(folder, `.ganglion-doctor-${process.pid}`);
	try {
		await writeFile(file, Buffer.alloc(PROBE_BYTES));
		return undefined;
	} catch (error) {
		return fileFailure(error);
	} finally {
		await rm(file, { force: true }).catch(() => {});
	}
}
