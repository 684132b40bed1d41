/** What the bench reads about processes: a tree of them, their memory, and their CPU time. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterEach, describe, expect, it } from "vitest";
import { childrenOf, exactCpuMicroseconds, memoryOfTree, treeOf } from "../../tools/bench/process.ts";

const MEGABYTE = 1_000_000;
const started: ChildProcess[] = [];
afterEach(() => {
	for (const child of started.splice(0))
		for (const { pid } of treeOf(child.pid ?? Number.NaN).toReversed()) process.kill(pid, "SIGKILL");
});

/** Runs a program, and waits for its first line. It ends with its standard input. */
async function running(program: string): Promise<{ pid: number; line: string; child: ChildProcess }> {
	const child = spawn(
		process.execPath,
		["--eval", `process.stdin.resume().on("end", process.exit);${program}`],
		{
			stdio: ["pipe", "pipe", "inherit"],
		},
	);
	started.push(child);
	const [line]: string[] = await once(createInterface({ input: child.stdout }), "line");
	return { pid: child.pid ?? 0, line: line ?? "", child };
}

const holding = (megabytes: number): string =>
	`globalThis.held = Buffer.alloc(${megabytes * MEGABYTE}, 1); console.log(process.pid); setInterval(() => {}, 1e9);`;
/** Starts the program below itself. */
const above = (program: string): string =>
	`require("node:child_process").spawn(process.execPath, ["--eval", ${JSON.stringify(program)}], { stdio: "inherit" });`;

describe("a tree of processes", () => {
	it("has the processes below the children, and none that has ended", async () => {
		const top = await running(above(above(holding(1))));
		const lowest = Number(top.line);
		const tree = treeOf(top.pid);
		expect(tree.map(({ pid }) => pid)).toEqual([top.pid, expect.any(Number), lowest]);
		expect(tree.slice(1).map(({ parent }) => parent)).toEqual([top.pid, tree[1]?.pid]);
		expect(childrenOf(top.pid).map(({ pid }) => pid)).toEqual([tree[1]?.pid]);
		for (const { pid } of tree.toReversed()) process.kill(pid, "SIGKILL");
		await once(top.child, "exit");
		expect(treeOf(top.pid)).toEqual([]);
	});

	it("counts the memory of each process, and its program once", async () => {
		const [one, held] = [await running("console.log(0);"), await running(holding(64))];
		const both = await running(above(holding(32)));
		const [alone, large, pair] = [one, held, both].map(({ pid }) => memoryOfTree(pid));
		const bytesOf = (tree: typeof alone, index = 0): number => tree?.own[index]?.bytes ?? 0;
		expect(bytesOf(large) - bytesOf(alone)).toBeGreaterThan(60 * MEGABYTE);
		expect(bytesOf(large) - bytesOf(alone)).toBeLessThan(80 * MEGABYTE);
		expect(bytesOf(pair, 1) - bytesOf(alone)).toBeGreaterThan(28 * MEGABYTE);
		expect(pair?.files).toBeGreaterThan(10 * MEGABYTE);
		expect(pair?.files).toBeLessThan(1.5 * (alone?.files ?? 0));
	});
});

it("the CPU time of a process is the one that it counts itself", async () => {
	const { pid, line } = await running(
		"while (process.cpuUsage().user < 100_000) for (let i = 0; i < 1e6; i++); const { user, system } = process.cpuUsage(); console.log(user + system);",
	);
	const own = Number(line);
	expect(exactCpuMicroseconds(pid)).toBeGreaterThan(0.9 * own);
	expect(exactCpuMicroseconds(pid)).toBeLessThan(1.3 * own);
});
