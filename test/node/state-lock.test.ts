/** The folder of a gateway's state is locked, if it can be written. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
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

it("has no socket of a process that ended without a release", async () => {
	const script = `
		import { lockState } from ${JSON.stringify(join(import.meta.dirname, "../../scripts/state-lock.ts"))};
		await lockState(${JSON.stringify(folder)});
		process.exit(3);
	`;
	const { status } = spawnSync(process.execPath, ["--input-type=module-typescript", "-e", script], {
		stdio: ["ignore", "ignore", "inherit"],
	});
	expect(status).toBe(3);
	expect(readdirSync(folder)).toEqual(["lock.sqlite"]);
	(await lockState(folder)).unlock();
});

it("locks a folder once, and leaves no file of its trial write", async () => {
	const state = await lockState(folder);
	expect(readdirSync(folder).filter((name) => name.startsWith(".ganglion"))).toEqual([]);
	await expect(lockState(folder)).rejects.toThrow(/^another gateway uses it/);
	state.unlock();
	(await lockState(folder)).unlock();
});

it("is locked also if the processes cannot be recorded, as on a full disk", async () => {
	mkdirSync(join(folder, "workerd.pid"));
	const state = await lockState(folder);
	state.servedBy([1]);
	await expect(lockState(folder)).rejects.toThrow(/^another gateway uses it/);
	state.unlock();
});
