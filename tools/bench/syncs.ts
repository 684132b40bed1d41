/**
 * Counts the waits for the disk (`fsync`, `fdatasync`) of a process, without root: with strace, or without it with a small library that
 * is compiled here and loaded before the C library.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface SyncCounter {
	/** What starts the program: `strace`, or `env` with the library. */
	wrapper: readonly string[];
	/** Waits so far, of the program and all that it starts. */
	count(): number;
	/** Before the wrapper is stopped. `pid`: of the wrapper. */
	stop(pid: number): void;
}

/** @param folder for the files of the counter. @param name of this count in the folder. */
export type CounterKind = (folder: string, name: string) => SyncCounter | undefined;

/** `undefined`: there is neither strace nor a C compiler, so nothing can be counted. */
export const countSyncs: CounterKind = (folder, name) => byStrace(folder, name) ?? byLibrary(folder, name);

export const byStrace: CounterKind = (folder, name) => {
	const log = join(folder, `${name}.strace`);
	const wrapper = straceTo(log);
	if (!wrapper) return undefined;
	writeFileSync(log, "");
	return {
		wrapper,
		count: () => readFileSync(log, "utf8").match(/\b(?:fsync|fdatasync)\(/g)?.length ?? 0,
		stop: endTraced,
	};
};

/** The command that writes each wait for the disk into a file. `undefined`: strace is not installed. */
export function straceTo(log: string, ...options: string[]): readonly string[] | undefined {
	if (!runs("strace", "--version")) return undefined;
	// With a filter in the kernel, the other system calls cost nothing.
	return ["strace", "-f", "--seccomp-bpf", ...options, "-e", "trace=fsync,fdatasync", "-o", log];
}

/** strace ends with the program that it has started, which would survive strace. `pid`: of strace. */
export const endTraced = (pid: number): void => void runs("pkill", "-KILL", "-P", String(pid));

/** Appends a byte to a file for each wait. */
const LIBRARY = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void count(void) {
	const char *file = getenv("COUNTED_SYNCS");
	int to = file ? open(file, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
	if (to < 0) return;
	if (write(to, "1", 1) != 1) abort();
	close(to);
}

int fsync(int file) {
	int (*next)(int) = dlsym(RTLD_NEXT, "fsync");
	count();
	return next(file);
}

int fdatasync(int file) {
	int (*next)(int) = dlsym(RTLD_NEXT, "fdatasync");
	count();
	return next(file);
}
`;

export const byLibrary: CounterKind = (folder, name) => {
	const [source, library, counted] = ["c", "so", "count"].map((kind) => join(folder, `${name}.${kind}`));
	if (!source || !library || !counted) return undefined;
	writeFileSync(source, LIBRARY);
	if (!runs("cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl")) return undefined;
	writeFileSync(counted, "");
	return {
		wrapper: ["env", `LD_PRELOAD=${library}`, `COUNTED_SYNCS=${counted}`],
		count: () => statSync(counted).size,
		stop: () => {},
	};
};

/** Whether the command exists and succeeds. */
function runs(command: string, ...args: string[]): boolean {
	try {
		execFileSync(command, args, { stdio: "ignore" });
		return true;
	} catch {
		return false;
	}
}
