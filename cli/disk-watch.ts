/**
 * Watches the free space of the disk with the accounts, because a Worker cannot. The workers stop writing logs, caches, resumable streams
 * and stored responses while less than the reserve is free, or while the folder cannot be written: the disk is read-only after an error, the
 * rights were changed, or it has no room for further files. Only a write finds all of these. It is asynchronous, because this process also
 * passes the connections, which a disk that hangs must not stop.
 */
import { sendCounts } from "../scripts/connections/send-counts.ts";
import { type Disk, diskOf } from "../scripts/disk.ts";
import { cannotBeWritten, codeOf, isDiskFull, isOutOfFiles } from "../scripts/file-failure.ts";
import { writeFailure } from "../scripts/write-failure.ts";
import { DISK_CLASS } from "../src/core/disk-space.ts";
import type { Log } from "./log.ts";

const CHECK_MS = 1_000;
/** Every so many checks the workers get the state again, and the folder is written. */
const REPEAT_CHECKS = 5;
const MIB = 1024 * 1024;

export interface DiskWatch {
	folder: string;
	/** Of the entrypoint `Connections` of each worker. */
	sockets: readonly string[];
	/** It may change. */
	reserveBytes(): number;
	log: Log;
	read?: (folder: string) => Disk;
	/** Writes a file. Resolves to the error of the system. Never rejects. */
	write?: (folder: string) => Promise<Error | undefined>;
}

/** Returns a function that ends the watch. */
export function watchDisk({
	folder,
	sockets,
	reserveBytes,
	log,
	read = diskOf,
	write = writeFailure,
}: DiskWatch): () => void {
	let state: DiskState = "writable";
	let failure: Error | undefined;
	let isWriting = false;
	let checks = 0;
	let disk = read(folder);
	const tryWrite = async (): Promise<void> => {
		if (isWriting) return;
		isWriting = true;
		const result = await write(folder);
		isWriting = false;
		if (!isOutOfFiles(result)) failure = result;
	};
	const check = (): void => {
		const { total, free } = disk;
		const reserve = reserveBytes();
		const isRepeated = checks++ % REPEAT_CHECKS === 0;
		const before = state;
		state = stateOf(free < reserve, failure);
		if (state !== before) log.error(messageOf(state, { folder, free, reserve, failure }));
		if (state !== before || isRepeated) {
			const limit = state === "unwritable" ? 0 : total - reserve;
			const report = { name: DISK_CLASS, used: total - free, limit, refused: 0 };
			for (const socket of sockets) sendCounts(socket, { counts: [report] });
		}
		// The next check has the result.
		if (isRepeated || failure) void tryWrite();
	};
	check();
	const timer = setInterval(() => {
		try {
			disk = read(folder);
		} catch (error) {
			failure = error as Error;
		}
		check();
	}, CHECK_MS);
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
