/**
 * Watches the free space of the disk with the accounts, because a Worker cannot. The workers stop writing logs, caches, resumable streams
 * and stored responses while less than the reserve is free, or while the folder cannot be written: the disk is read-only after an error, the
 * rights were changed, or it has no room for further files. Only a write finds all of these.
 */
import { sendCounts } from "../scripts/connections/send-counts.ts";
import { type Disk, diskOf } from "../scripts/disk.ts";
import { cannotBeWritten } from "../scripts/file-failure.ts";
import { writeFailure } from "../scripts/write-failure.ts";
import { DISK_CLASS } from "../src/core/disk-space.ts";
import type { Log } from "./log.ts";

const CHECK_MS = 1_000;
/** After this number of checks without a change the workers get the state again, and the folder is written. */
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
	/** Writes a file. Returns the error of the system. */
	write?: (folder: string) => Error | undefined;
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
	let checks = 0;
	const check = (): void => {
		const { total, free } = read(folder);
		const reserve = reserveBytes();
		const isRepeated = checks++ % REPEAT_CHECKS === 0;
		if (isRepeated || failure) failure = write(folder);
		const before = state;
		state = free < reserve ? "low" : failure ? "unwritable" : "writable";
		if (state !== before) log.error(messageOf(state, { folder, free, reserve, failure }));
		if (state !== before || isRepeated) {
			const limit = state === "unwritable" ? 0 : total - reserve;
			const report = { name: DISK_CLASS, used: total - free, limit, refused: 0 };
			for (const socket of sockets) sendCounts(socket, { counts: [report] });
		}
	};
	check();
	const timer = setInterval(check, CHECK_MS);
	timer.unref();
	return () => clearInterval(timer);
}

/** `low`: less than the reserve is free. */
type DiskState = "writable" | "low" | "unwritable";

function messageOf(
	state: DiskState,
	{ folder, free, reserve, failure }: { folder: string; free: number; reserve: number; failure?: unknown },
): string {
	const mebibytes = (bytes: number): string => `${Math.floor(bytes / MIB)} MiB`;
	if (state === "unwritable")
		return `${cannotBeWritten(folder, failure)}. Nothing is stored, and requests whose account cannot be written get 503 (docs/operations.md#a-full-disk).`;
	return state === "low"
		? `The disk of ${folder} has ${mebibytes(free)} free. Below ${mebibytes(reserve)} (LIMITS.disk_reserve_bytes) only accounts and bills are written: no logs, caches, resumable streams or stored responses. Make space (docs/operations.md#a-full-disk).`
		: `The disk of ${folder} can be written, and has ${mebibytes(free)} free. Logs, caches, resumable streams and responses are stored.`;
}
