/**
 * Ensures that only one gateway uses a folder of state. The runtime does not check this, and two gateways would each allow the
 * full limits of an account. Two checks: a lock of the operating system on a file in the folder, which ends with the process of
 * the script; and the gateway's own socket in the folder, which answers while the runtime runs, even if the script was killed.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

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
	/** Records the process that has the socket. */
	servedBy(pid: number): void;
	unlock(): void;
}

/** Throws an `Error` whose message is for the operator. */
export async function lockState(folder: string): Promise<LockedState> {
	const socket = join(folder, "drain.sock");
	const reloadSocket = join(folder, "reload.sock");
	const pidFile = join(folder, "workerd.pid");
	if (reloadSocket.length > MAX_SOCKET_CHARS)
		throw new Error(`the name of ${folder} is too long for a socket in it`);
	// The folder contains usage and the hashes of tokens.
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const file = new DatabaseSync(join(folder, "lock.sqlite"));
	try {
		file.exec("BEGIN EXCLUSIVE");
	} catch (error) {
		file.close();
		if (error instanceof Error && "errcode" in error && error.errcode === BUSY)
			throw new Error("another gateway uses it: give each its own --state");
		throw error;
	}
	if (await answers(socket)) {
		const pid = readFileSync(pidFile, "utf8").trim();
		throw new Error(`the runtime of a killed gateway still uses it: stop it first (kill ${pid})`);
	}
	for (const path of [socket, reloadSocket]) rmSync(path, { force: true });
	return {
		objects: join(folder, "objects"),
		socket,
		reloadSocket,
		servedBy: (pid) => writeFileSync(pidFile, `${pid}\n`),
		unlock() {
			for (const path of [socket, reloadSocket, pidFile]) rmSync(path, { force: true });
			file.close();
		},
	};
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
