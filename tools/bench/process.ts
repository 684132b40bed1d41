/** CPU time and memory of processes, read from `/proc`. Linux only; the bench refuses to run elsewhere. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** Microseconds of CPU, user and system, of all threads. The kernel counts in ticks of 10 ms, so measurements need seconds. */
export function cpuMicroseconds(pid: number): number {
	const fields = fieldsOf(pid);
	const [user, system] = [Number(fields[11]), Number(fields[12])];
	return ((user + system) / TICKS_PER_SECOND) * 1e6;
}

/** As {@link cpuMicroseconds}, counted in nanoseconds, for short work. Threads that have ended are not in it. */
export function exactCpuMicroseconds(pid: number): number {
	const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
		// Fields: on a core, waiting for one, turns.
		Number(textOf(`/proc/${pid}/task/${thread}/schedstat`)?.split(" ")[0] ?? 0),
	);
	return sumOf(nanoseconds) / 1e3;
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
	const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
	return Number(line?.[1] ?? 0) * 1024;
}

interface Mapping {
	/** What is mapped: a file, and the place in it. Empty: nothing. */
	source: string;
	/** Bytes that only this process has. */
	anonymous: number;
	/** Bytes of the file, which other processes may have too. */
	shared: number;
}

export interface TreeMemory {
	/** What each process has for itself, in bytes. */
	own: { process: Process; bytes: number }[];
	/** Programs and libraries, each once, in bytes. */
	files: number;
}

/**
 * Resident memory of a process and all processes below it. A file that several of them map counts once. The proportional set size of the
 * kernel would depend on which other programs run on the machine.
 */
export function memoryOfTree(root: number): TreeMemory {
	const files = new Map<string, number>();
	const own = treeOf(root).map((process) => {
		const mappings = mappingsOf(process.pid);
		for (const { source, shared } of mappings) files.set(source, Math.max(files.get(source) ?? 0, shared));
		return { process, bytes: sumOf(mappings.map(({ anonymous }) => anonymous)) };
	});
	return { own, files: sumOf([...files.values()]) };
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** None: the process has ended. */
function mappingsOf(pid: number): Mapping[] {
	const parts = (textOf(`/proc/${pid}/smaps`) ?? "").split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m);
	return parts.filter(Boolean).map((part) => {
		// The line is: addresses, rights, place in the file, device, inode, path.
		const [, , place = "", device = "", inode = ""] = part.split(/\s+/, 5);
		const bytesOf = (name: string): number =>
			Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(part)?.[1] ?? 0) * 1024;
		const isFile = inode !== "0";
		const anonymous = isFile ? bytesOf("Anonymous") : bytesOf("Rss");
		return {
			source: isFile ? [device, inode, place].join() : "",
			anonymous,
			shared: bytesOf("Rss") - anonymous,
		};
	});
}

export interface Process {
	pid: number;
	parent: number;
	/** Its program and arguments, each ended by a NUL character. */
	line: string;
}

/** In the order of their start. */
export const childrenOf = (parent: number): Process[] =>
	allProcesses().filter((process) => process.parent === parent);

/** The process, its children, and theirs. */
export function treeOf(root: number): Process[] {
	const all = allProcesses();
	const tree = all.filter(({ pid }) => pid === root);
	for (const { pid } of tree) tree.push(...all.filter(({ parent }) => parent === pid));
	return tree;
}

const allProcesses = (): Process[] =>
	readdirSync("/proc")
		.map(Number)
		.filter(Number.isInteger)
		.sort((one, other) => one - other)
		.flatMap((pid) => processOf(pid) ?? []);

function processOf(pid: number): Process | undefined {
	try {
		const parent = Number(fieldsOf(pid)[1]);
		return { pid, parent, line: readFileSync(`/proc/${pid}/cmdline`, "utf8") };
	} catch {
		// It has ended.
		return undefined;
	}
}

/** From its state on. */
function fieldsOf(pid: number): string[] {
	// The program's name is in parentheses and may contain spaces.
	return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
}

/** `undefined`: the process or the thread has ended. */
function textOf(file: string): string | undefined {
	try {
		return readFileSync(file, "utf8");
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOENT" || code === "ESRCH") return undefined;
		throw error;
	}
}
