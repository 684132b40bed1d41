/**
 * Watches the free space of the disk with the accounts, because a Worker cannot. The workers stop writing logs, caches, resumable streams
 * and stored responses while less than the reserve is free.
 */
import { sendCounts } from "../scripts/connections/send-counts.ts";
import { type Disk, diskOf } from "../scripts/disk.ts";
import { DISK_CLASS } from "../src/core/disk-space.ts";
import type { Log } from "./log.ts";

const CHECK_MS = 1_000;
/** After this time without a change the workers get the state again. */
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
}

/** Returns a function that ends the watch. */
export function watchDisk({ folder, sockets, reserveBytes, log, read = diskOf }: DiskWatch): () => void {
	let wasLow = false;
	let checks = 0;
	const check = (): void => {
		const { total, free } = read(folder);
		const reserve = reserveBytes();
		const isLow = free < reserve;
		if (isLow !== wasLow) log.error(messageOf(isLow, { folder, free, reserve }));
		if (isLow !== wasLow || checks++ % REPEAT_CHECKS === 0) {
			const report = { name: DISK_CLASS, used: total - free, limit: total - reserve, refused: 0 };
			for (const socket of sockets) sendCounts(socket, { counts: [report] });
		}
		wasLow = isLow;
	};
	check();
	const timer = setInterval(check, CHECK_MS);
	timer.unref();
	return () => clearInterval(timer);
}

function messageOf(
	isLow: boolean,
	{ folder, free, reserve }: { folder: string; free: number; reserve: number },
): string {
	const mebibytes = (bytes: number): string => `${Math.floor(bytes / MIB)} MiB`;
	return isLow
		? `The disk of ${folder} has ${mebibytes(free)} free. Below ${mebibytes(reserve)} (LIMITS.disk_reserve_bytes) only accounts and bills are written: no logs, caches, resumable streams or stored responses. Make space (docs/operations.md#a-full-disk).`
		: `The disk of ${folder} has ${mebibytes(free)} free again. Logs, caches, resumable streams and responses are stored.`;
}
