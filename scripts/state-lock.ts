/**
 * One gateway at a time serves from a folder of state: the runtime itself does not look, and two that each believed to be
 * alone would let in twice what an account may have. Two things say that a folder is taken. A lock of the operating
 * system's on a file in it, which is gone with the process of the script that holds it. And the gateway's own socket in
 * it, which answers as long as the runtime runs, also when the script was killed.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const BUSY = 5;
/** What the systems allow for the address of a socket. */
const MAX_SOCKET_CHARS = 100;

export interface LockedState {
	/** Of the objects. */
	objects: string;
	/** Where the gateway's `Drain` is to listen. */
	socket: string;
	/** Where the gateway's `Reload` is to listen. */
	reloadSocket: string;
	/** Says whose socket it is. */
	servedBy(pid: number): void;
	unlock(): void;
}

/** Throws an `Error` with a sentence for whoever named the folder. */
export async function lockState(folder: string): Promise<LockedState> {
	const socket = join(folder, "drain.sock");
	const reloadSocket = join(folder, "reload.sock");
	const pidFile = join(folder, "workerd.pid");
	if (reloadSocket.length > MAX_SOCKET_CHARS)
		throw new Error(`the name of ${folder} is too long for a socket in it`);
	// Whoever reads what is in it knows what was used, and the hashes of tokens.
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const file = new DatabaseSync(join(folder, "lock.sqlite"));
	try {
		file.exec("BEGIN EXCLUSIVE");
	} catch (error) {
		file.close();
		if (error instanceof Error && "errcode" in error && error.errcode === BUSY)
			throw new Error("another gateway serves from it: give each its own --state");
		throw error;
	}
	if (await answers(socket)) {
		const pid = readFileSync(pidFile, "utf8").trim();
		throw new Error(`a gateway that was left behind still serves from it: stop it first (kill ${pid})`);
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
