/** `ganglion doctor`: whether this machine has what a gateway needs: room for the state, the right to write it, and open files. */
import { diskOf, existing } from "./disk.ts";
import type { Finding } from "./engines/doctor.ts";
import { cannotBeWritten } from "./file-failure.ts";
import { LOW_FILE_LIMIT, openFileLimit } from "./file-limit.ts";
import { writeFailure } from "./write-failure.ts";

const MEBIBYTE = 1024 * 1024;
/** Below this, accounts and logs of a busy gateway fill the disk within hours. */
const LOW_MEBIBYTES = 1_024;
/** Below this the state cannot be written for long. */
const LEAST_MEBIBYTES = 64;

/** `state`: the folder of the accounts. It need not exist. */
export async function examineMachine(state: string): Promise<Finding[]> {
	const finding = (check: Finding["check"], result: Finding["result"], detail: string): Finding => ({
		...{ backend: "this machine", url: "", check, result, detail },
	});
	const folder = existing(state);
	const free = Math.floor(diskOf(state).free / MEBIBYTE);
	const disk = free < LEAST_MEBIBYTES ? "failed" : free < LOW_MEBIBYTES ? "warning" : "ok";
	const failure = await writeFailure(folder);
	const files = openFileLimit();
	return [
		finding(
			"disk",
			disk,
			`${free} MiB are free for ${state}${disk === "ok" ? "" : ": make space (docs/operations.md#a-full-disk)"}`,
		),
		failure === undefined
			? finding(
					"state",
					"ok",
					`${state} ${folder === state ? "can be written" : "does not exist yet, and can be made"}`,
				)
			: finding("state", "failed", cannotBeWritten(folder, failure)),
		files < LOW_FILE_LIMIT
			? finding(
					"files",
					"warning",
					`${files} open files are few: raise the limit (docs/self-hosting.md#open-files)`,
				)
			: finding("files", "ok", `${files} open files`),
	];
}
