/**
 * One process at a time writes a file: a file beside it names the process. A killed process leaves that file, so its time is renewed, and
 * another process takes it over when the time is old or the process has ended.
 */
import { randomUUID } from "node:crypto";
import { readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { isRunning } from "../child.ts";
import { codeOf } from "../file-failure.ts";
import { LOCK } from "./store.ts";

const RENEW_MS = 5_000;
const OLD_MS = 30_000;
const POLL_MS = 300;
/** Two processes that take the lock of a killed one may both believe that they have it. The later one has it. */
const SETTLE_MS = 50;

interface HoldOptions {
	signal: AbortSignal;
	/** Called while another process has the file. */
	waiting?(): void;
}

/** Waits until no other process writes the file. Returns a function that releases it. */
export async function holdFile(file: string, { signal, waiting }: HoldOptions): Promise<() => void> {
	const lock = file + LOCK;
	const own = `${process.pid} ${randomUUID()}`;
	for (;;) {
		signal.throwIfAborted();
		const takesOver = read(lock) !== undefined && !isHeld(file);
		if (takesOver) rmSync(lock, { force: true });
		if (create(lock, own)) {
			if (takesOver) await wait(SETTLE_MS);
			if (read(lock) === own) return keep(lock, own);
		}
		waiting?.();
		await wait(POLL_MS, undefined, { signal });
	}
}

/** Whether a process writes the file. */
export function isHeld(file: string): boolean {
	const text = read(file + LOCK);
	const [pid = ""] = text?.split(" ") ?? [];
	const time = statSync(file + LOCK, { throwIfNoEntry: false })?.mtimeMs ?? 0;
	return text !== undefined && Date.now() - time < OLD_MS && isRunning(Number(pid));
}

function keep(lock: string, own: string): () => void {
	const renewal = setInterval(() => {
		const now = new Date();
		if (read(lock) === own) utimesSync(lock, now, now);
	}, RENEW_MS);
	renewal.unref();
	return () => {
		clearInterval(renewal);
		if (read(lock) === own) rmSync(lock, { force: true });
	};
}

function create(lock: string, text: string): boolean {
	try {
		writeFileSync(lock, text, { flag: "wx" });
		return true;
	} catch (error) {
		if (codeOf(error) === "EEXIST") return false;
		throw error;
	}
}

function read(lock: string): string | undefined {
	try {
		return readFileSync(lock, "utf8");
	} catch {
		return undefined;
	}
}
