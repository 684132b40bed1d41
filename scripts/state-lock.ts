/**
 * One process at a time serves from a folder of state: the runtime itself does not look, and two that each believed to
 * be alone would let in twice what an account may have. The lock is the operating system's, on a file in the folder, so
 * it is gone with whoever held it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const BUSY = 5;

/** Gives it back. `undefined`: another process has it. */
export function lockState(folder: string): (() => void) | undefined {
	mkdirSync(folder, { recursive: true });
	const file = new DatabaseSync(join(folder, "lock.sqlite"));
	try {
		file.exec("BEGIN EXCLUSIVE");
		return () => file.close();
	} catch (error) {
		file.close();
		if (error instanceof Error && "errcode" in error && error.errcode === BUSY) return undefined;
		throw error;
	}
}
