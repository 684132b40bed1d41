/** The folder of a gateway's state is locked, if it can be written. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fileFailure } from "../../scripts/file-failure.ts";
import { lockState } from "../../scripts/state-lock.ts";

let folder: string;
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it.each([
	["ENOSPC", "the disk is full (ENOSPC)"],
	["EDQUOT", "the quota of the disk is used up (EDQUOT)"],
	["EACCES", "this user has no right to it (EACCES)"],
	["EROFS", "the disk is read-only (EROFS)"],
])("refuses a folder that cannot be written: %s", async (code, sentence) => {
	const failureOf = () => Object.assign(new Error(code), { code });
	const failure = await lockState(folder, failureOf).catch((error: unknown) => error);
	expect(fileFailure(failure)).toBe(sentence);
	expect(readdirSync(folder)).toEqual([]);
});

it("locks a folder once, and leaves no file of its trial write", async () => {
	const state = await lockState(folder);
	expect(readdirSync(folder).filter((name) => name.startsWith(".ganglion"))).toEqual([]);
	await expect(lockState(folder)).rejects.toThrow(/^another gateway uses it/);
	state.unlock();
	(await lockState(folder)).unlock();
});
