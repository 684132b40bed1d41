/** The package as npm packs it, for the tests that install it. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, renameSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { RUN_FOLDER } from "../run-folder.ts";

/** Adds the tarball to a folder and returns its name. The processes of a run copy what the first has packed. */
export function packInto(folder: string, env: Readonly<Record<string, string | undefined>>): string {
	const { name, version } = JSON.parse(readFileSync("package.json", "utf8"));
	const tarball = `${name}-${version}.tgz`;
	const shared = process.env[RUN_FOLDER] ?? mkdtempSync(join(tmpdir(), "ganglion-packed-"));
	const packed = join(shared, tarball);
	if (!existsSync(packed)) {
		// Another process may pack at the same time.
		const partial = mkdtempSync(join(shared, "packing-"));
		const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", partial, resolve(".")];
		execFileSync("npm", args, { env: env as NodeJS.ProcessEnv, stdio: "pipe" });
		renameSync(join(partial, tarball), packed);
	}
	copyFileSync(packed, join(folder, tarball));
	return tarball;
}
