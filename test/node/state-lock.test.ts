/** The folder of a gateway's state is locked, if it can be written. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
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

/** A folder in which nobody can write, also not the user root. SQLite would say "unable to open database file". */
const UNWRITABLE = "/proc/self";

it.runIf(existsSync(UNWRITABLE))(
	"refuses a folder that cannot be written, with the reason of the system",
	async () => {
		const failure = await lockState(UNWRITABLE).catch((error: unknown) => error);
		expect(fileFailure(failure)).toBe("nothing can be created there (ENOENT)");
	},
);

it("locks a folder once, and leaves no file of its trial write", async () => {
	const state = await lockState(folder);
	expect(readdirSync(folder).filter((name) => name.startsWith(".ganglion"))).toEqual([]);
	await expect(lockState(folder)).rejects.toThrow(/^another gateway uses it/);
	state.unlock();
	(await lockState(folder)).unlock();
});
