/** The folder of a gateway's state is locked, if it can be written or its disk is full. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockState } from "../../scripts/state-lock.ts";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const failureOf = (code: string) => () => Object.assign(new Error(code), { code });

it.each(["ENOSPC", "EDQUOT"])("locks a folder without space: %s", async (code) => {
	const state = await lockState(folder, failureOf(code));
	await expect(lockState(folder, failureOf(code))).rejects.toThrow(/^another gateway uses it/);
	state.unlock();
	(await lockState(folder, failureOf(code))).unlock();
});

it.each(["EACCES", "EROFS", "ENOENT"])("refuses a folder that cannot be written: %s", async (code) => {
	await expect(lockState(folder, failureOf(code))).rejects.toMatchObject({ code });
	expect(readdirSync(folder)).toEqual([]);
});

it("locks without a file that takes space, and leaves none of its own", async () => {
	const state = await lockState(folder);
	// A journal of the lock's database would need space before anything is written.
	expect(readdirSync(folder).sort()).toEqual(["lock.sock", "lock.sqlite"]);
	state.servedBy([1, 2]);
	expect(existsSync(join(folder, "workerd.pid"))).toBe(true);
	state.unlock();
	expect(existsSync(join(folder, "workerd.pid"))).toBe(false);
});
