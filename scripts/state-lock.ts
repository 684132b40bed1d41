/**
 * Ensures that only one gateway uses a folder of state. The runtime does not check this, and two gateways would each allow the
 * full limits of an account. Two checks: a lock on the folder, which ends with the process of the command; and the gateway's own
 * socket in the folder, which answers while the runtime runs, even if the command was killed.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { join } from "node:path";
import { codeOf } from "./file-failure.ts";
import { makeFolder } from "./make-folder.ts";
import { writeFailure } from "./write-failure.ts";

const BUSY = 5;
/** The operating systems' limit for the path of a socket. */
const MAX_SOCKET_CHARS = 100;

export interface LockedState {
	/** Folder of the Durable Objects. */
	objects: string;
	/** For the gateway's `Drain`. */
	socket: string;
	/** For the gateway's `Reload`. */
	reloadSocket: string;
	/** Records the processes of the gateway, if the disk permits it. The first one has the socket. */
	servedBy(pids: readonly number[]): void;
	unlock(): void;
}

/**
 * Throws an `Error` whose message is for the operator, or the error of the system that the folder cannot be written. On a full disk the
 * runtime would end at its start without a sentence.
 */
export async function lockState(folder: string): Promise<LockedState> {
	const socket = join(folder, "drain.sock");
	const reloadSocket = join(folder, "reload.sock");
	const pidFile = join(folder, "workerd.pid");
	if (reloadSocket.length > MAX_SOCKET_CHARS)
		throw new Error(`the name of ${folder} is too long for a socket in it`);
	// The folder contains usage and the hashes of tokens.
	makeFolder(folder, 0o700);
	const failure = await writeFailure(folder);
	if (failure) throw failure;
	const release = await lock(folder);
	if (await answers(socket)) {
		const pids = readFileSync(pidFile, "utf8").trim();
		throw new Error(`the runtime of a killed gateway still uses it: stop it first (kill ${pids})`);
	}
	for (const path of [socket, reloadSocket]) rmSync(path, { force: true });
	return {
		objects: join(folder, "objects"),
		socket,
		reloadSocket,
		servedBy: (pids) => ifPossible(() => writeFileSync(pidFile, `${pids.join(" ")}\n`)),
		unlock() {
			for (const path of [socket, reloadSocket, pidFile]) ifPossible(() => rmSync(path, { force: true }));
			release();
		},
	};
}

const inUse = (): Error => new Error("another gateway uses it: give each its own --state");

/** Returns a function that releases the lock. */
async function lock(folder: string): Promise<() => void> {
	// Node 20 has no SQLite. It finds a gateway of another version by the socket.
	const sqlite = await import("node:sqlite").catch(() => undefined);
	const releaseFile = sqlite && lockFile(sqlite, join(folder, "lock.sqlite"));
	const releaseSocket = await lockSocket(join(folder, "lock.sock")).catch((error) => {
		releaseFile?.();
		throw error;
	});
	return () => {
		releaseSocket();
		releaseFile?.();
	};
}

/** A lock of the operating system on a file. */
function lockFile({ DatabaseSync }: typeof import("node:sqlite"), path: string): () => void {
	const file = new DatabaseSync(path);
	try {
		// Nothing is written. A journal on the disk would outlive a process that ends without a release.
		file.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
	} catch (error) {
		file.close();
		if (error instanceof Error && "errcode" in error && error.errcode === BUSY) throw inUse();
		throw error;
	}
	return () => file.close();
}

/** A socket that this process listens on. Two processes that start at the same time beside a socket of a killed one can both succeed. */
async function lockSocket(path: string): Promise<() => void> {
	if (await answers(path)) throw inUse();
	rmSync(path, { force: true });
	const server = createServer((connection) => connection.destroy());
	await new Promise<void>((resolve, reject) => {
		server.once("error", (error) => reject(codeOf(error) === "EADDRINUSE" ? inUse() : error));
		server.listen(path, resolve);
	});
	server.unref();
	// The socket's file outlives a process that ends without a release, for example because its port is in use. The lock on
	// `lock.sqlite` does not, so that file stays: without it, two processes could lock two files of its name.
	const remove = () => ifPossible(() => rmSync(path, { force: true }));
	process.once("exit", remove);
	return () => {
		process.off("exit", remove);
		server.close();
	};
}

function ifPossible(change: () => void): void {
	try {
		change();
	} catch {
		// The disk is full or read-only, or the rights were changed.
	}
}

const answers = (socket: string): Promise<boolean> =>
	new Promise((resolve) => {
		const connection = createConnection(socket);
		connection.once("error", () => resolve(false));
		connection.once("connect", () => {
			connection.destroy();
			resolve(true);
		});
	});
