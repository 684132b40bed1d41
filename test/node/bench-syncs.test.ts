/** The counts of waits for the disk, with each way of counting that this machine has. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { byLibrary, byStrace, countSyncs } from "../../tools/bench/syncs.ts";

const folder = mkdtempSync(join(tmpdir(), "ganglion-syncs-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PROGRAM = `
	const { openSync, fsyncSync, fdatasyncSync, writeSync } = require("node:fs");
	const file = openSync(process.argv[1], "w");
	for (let i = 0; i < 3; i++) { writeSync(file, "a"); fsyncSync(file); }
	for (let i = 0; i < 4; i++) { writeSync(file, "a"); fdatasyncSync(file); }`;
const KINDS = [
	["strace", byStrace(folder, "strace")],
	["library", byLibrary(folder, "library")],
] as const;

describe.each(KINDS.filter(([, counter]) => counter))("waits for the disk, by %s", (name, counter) => {
	it("are counted, those of processes below it too", () => {
		const [command = "", ...args] = counter?.wrapper ?? [];
		const run = (...program: string[]) =>
			spawnSync(command, [...args, ...program, join(folder, name)], { encoding: "utf8" });
		expect(run(process.execPath, "--eval", PROGRAM)).toMatchObject({ status: 0 });
		expect(counter?.count()).toBe(7);
		run("sh", "-c", `"${process.execPath}" --eval '${PROGRAM}' "$0"`);
		// A second log of strace replaces the first.
		expect(counter?.count()).toBe(name === "strace" ? 7 : 14);
	});
});

it("are counted by the first way that this machine has", () => {
	const first = KINDS.find(([, counter]) => counter)?.[1];
	expect(countSyncs(folder, "first")?.wrapper[0]).toBe(first?.wrapper[0]);
});
