/** A file that a command writes: complete, or absent, and nothing of a process that was killed stays beside it. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { writeComplete } from "../../cli/partial-file.ts";

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-partial-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const TWO_HOURS = 2 * 60 * 60;

/** A partial text that was written so many seconds ago. */
function write(name: string, ago: number): void {
	const path = join(folder, name);
	writeFileSync(path, "half");
	const time = Date.now() / 1000 - ago;
	utimesSync(path, time, time);
}

/** The process id of a process that was killed. */
async function killedPid(): Promise<number> {
	const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
	await once(child, "spawn");
	child.kill("SIGKILL");
	await once(child, "exit");
	return child.pid ?? 0;
}

it("removes what a killed process has left of the same file, and nothing else", async () => {
	const pid = await killedPid();
	const others = [
		`other.ndjson.${pid}.partial`,
		`a.ndjson.${process.ppid}.partial`,
		`a.ndjson.x.partial`,
		`a.ndjson.${pid}`,
	];
	for (const name of [...others, `a.ndjson.${pid}.partial`]) write(name, TWO_HOURS);
	await writeComplete(join(folder, "a.ndjson"), (handle) => handle.writeFile("all"));
	expect(readFileSync(join(folder, "a.ndjson"), "utf8")).toBe("all");
	expect(readdirSync(folder).sort()).toEqual([...others, "a.ndjson"].sort());
	await writeComplete(join(folder, "other.ndjson"), (handle) => handle.writeFile("all"));
	expect(readdirSync(folder)).not.toContain(`other.ndjson.${pid}.partial`);
});

it("leaves a file that was written within the last hour: its process may be in another container", async () => {
	const name = `a.ndjson.${await killedPid()}.partial`;
	write(name, TWO_HOURS / 4);
	await writeComplete(join(folder, "a.ndjson"), (handle) => handle.writeFile("all"));
	expect(readdirSync(folder).sort()).toEqual(["a.ndjson", name]);
});

it("leaves nothing of a write that fails", async () => {
	const failing = writeComplete(join(folder, "a.ndjson"), async () => {
		throw new Error("the gateway has ended");
	});
	await expect(failing).rejects.toThrow("the gateway has ended");
	expect(readdirSync(folder)).toEqual([]);
});
