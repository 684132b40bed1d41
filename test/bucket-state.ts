/**
 * The state of a session of wrangler with a bucket of R2 that has one page. The processes of a run copy what the first has made: wrangler
 * loads 15 MB of source.
 */
import { cpSync, existsSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { runScript } from "./node/script.ts";
import { RUN_FOLDER } from "./run-folder.ts";

export const BUCKET = "manuals";
/** The key of the page. */
export const PAGE = "guides/passwords.md";
export const PAGE_TEXT = "To reset a password, open the settings page.";

/** Before a gateway has the folder. */
export async function writeBucketState(folder: string): Promise<void> {
	const shared = process.env[RUN_FOLDER] ?? mkdtempSync(join(tmpdir(), "ganglion-bucket-"));
	const made = join(shared, "bucket-state");
	if (!existsSync(made)) {
		// Another process may make it at the same time.
		const partial = mkdtempSync(join(shared, "bucket-"));
		const file = join(partial, "page.md");
		const config = join(partial, "wrangler.json");
		const state = join(partial, "state");
		writeFileSync(file, PAGE_TEXT);
		const bucket = { binding: "MANUALS", bucket_name: BUCKET };
		writeFileSync(config, JSON.stringify({ compatibility_date: "2026-11-01", r2_buckets: [bucket] }));
		const wrangler = runScript(resolve("node_modules/wrangler/bin/wrangler.js"), [
			...["r2", "object", "put", `${BUCKET}/${PAGE}`, "--file", file],
			...["--local", "--persist-to", state, "--config", config],
		]);
		if ((await wrangler.exit) !== 0) throw new Error(await wrangler.until(/$/));
		if (!existsSync(made)) renameSync(state, made);
	}
	cpSync(made, folder, { recursive: true });
}
