/**
 * Watches the free space of the disk with the accounts, because a Worker cannot. The workers stop writing logs, caches, resumable streams
 * and stored responses while less than the reserve is free, or while the folder cannot be written: the disk is read-only after an error, the
 * rights were changed, or it has no room for further files. Only a write finds all of these. A disk that does not answer, such as a network
 * disk, cannot be written either. Nothing here waits for the disk synchronously, because this process also passes the connections.
 */
import { sendCounts } from "../scripts/connections/send-counts.ts";
import { type Disk, readDisk } from "../scripts/disk.ts";
import { cannotBeWritten, codeOf, isDiskFull, isOutOfFiles } from "../scripts/file-failure.ts";
import { writeFailure } from "../scripts/write-failure.ts";
import { DISK_CLASS } from "../src/core/disk-space.ts";
import type { Log } from "./log.ts";

const CHECK_MS = 1_000;
/** Every so many checks the workers get the state again, and the folder is written. */
const REPEAT_CHECKS = 5;
/** A disk that has not answered for so many checks hangs. */
const HANG_CHECKS = 5;
const NO_ANSWER = new Error(`the disk has not answered for ${(HANG_CHECKS * CHECK_MS) / 1_000} seconds`);
const MIB = 1024 * 1024;

export interface DiskWatch {
	folder: string;
	/** At the start. */
	disk: Disk;
	/** Of the entrypoint `Connections` of each worker. */
	sockets: readonly string[];
	/** It may change. */
	reserveBytes(): number;
	log: Log;
	read?: (folder: string) => Promise<Disk>;
	/** Writes a file. Resolves to the error of the system. Never rejects. */
	write?: (folder: string) => Promise<Error | undefined>;
}

/** Returns a function that ends the watch. */
export function watchDisk({
	folder,
	disk: initial,
	sockets,
	reserveBytes,
	log,
	read = readDisk,
	write = writeFailure,
}: DiskWatch): () => void {
	let disk = initial;
	let state: DiskState = "writable";
	let failure: Error | undefined;
	let checks = 0;
	/** Checks since the one that waits for the disk. `undefined`: none waits. */
	let pendingChecks: number | undefined;
	const report = (isRepeated: boolean): void => {
		const { total, free } = disk;
		const reserve = reserveBytes();
		const before = state;
		state = stateOf(free < reserve, failure);
		if (state !== before) log.error(messageOf(state, { folder, free, reserve, failure }));
		if (state === before && !isRepeated) return;
		const limit = state === "unwritable" ? 0 : total - reserve;
		const count = { name: DISK_CLASS, used: total - free, limit, refused: 0 };
		for (const socket of sockets) sendCounts(socket, { counts: [count] });
	};
	/** One at a time: a call that hangs keeps a thread of the process. */
	const inspect = async (writes: boolean): Promise<void> => {
		let found: Error | undefined;
		try {
			disk = await read(folder);
			found = writes ? await write(folder) : undefined;
		} catch (error) {
			found = error as Error;
		}
		if (!isOutOfFiles(found) && (writes || found || failure === NO_ANSWER)) failure = found;
	};
	const check = async (): Promise<void> => {
		const isRepeated = checks++ % REPEAT_CHECKS === 0;
		if (pendingChecks !== undefined) {
			if (++pendingChecks >= HANG_CHECKS) failure = NO_ANSWER;
			return report(isRepeated);
		}
		pendingChecks = 0;
		await inspect(isRepeated || failure !== undefined);
		pendingChecks = undefined;
		report(isRepeated);
	};
	report(true);
	void check();
	const timer = setInterval(() => void check(), CHECK_MS);
	timer.unref();
	return () => clearInterval(timer);
}

/** `low`: less than the reserve is free. */
type DiskState = "writable" | "low" | "unwritable";

/** Without free space every write fails: that is no second reason. */
function stateOf(isLow: boolean, failure: Error | undefined): DiskState {
	if (failure && !(isLow && isDiskFull(codeOf(failure)))) return "unwritable";
	return isLow ? "low" : "writable";
}

function messageOf(
	state: DiskState,
	{ folder, free, reserve, failure }: { folder: string; free: number; reserve: number; failure?: unknown },
): string {
	const mebibytes = (bytes: number): string => `${Math.floor(bytes / MIB)} MiB`;
	if (state === "unwritable")
		return `${cannotBeWritten(folder, failure)}. Nothing is stored, and requests whose account cannot be written get 503 (docs/operations.md#a-folder-that-cannot-be-written).`;
	return state === "low"
		? `The disk of ${folder} has ${mebibytes(free)} free. Below ${mebibytes(reserve)} (LIMITS.disk_reserve_bytes) only accounts and bills are written: no logs, caches, resumable streams or stored responses. Make space (docs/operations.md#a-full-disk).`
		: `The disk of ${folder} can be written, and has ${mebibytes(free)} free. Logs, caches, resumable streams and responses are stored.`;
}
