/** The built command under the oldest Node that package.json allows, whose functions are fewer than those of the Node of the tests. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { AS_NODE_20 } from "./as-node-20.ts";
import { CLI, ganglion } from "./cli/run.ts";
import { runScript, stopScripts } from "./script.ts";

const env = {
	NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(AS_NODE_20)}`,
	ALLOW_ANONYMOUS: "true",
	DEFAULT_BACKEND: "simulator",
};

let folder = "";
beforeEach(() => {
	folder = mkdtempSync(join(tmpdir(), "ganglion-node-"));
	writeFileSync(join(folder, "page.html"), "<h1>Title</h1>");
});
afterEach(() => {
	stopScripts();
	rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

it("serves with several workers, starts one again, and converts more files at once than it has converters", async () => {
	const port = await freePort();
	const script = runScript(
		CLI,
		["serve", "--port", String(port), "--workers", "2", "--state", join(folder, "state")],
		{ env },
	);
	expect(await script.until(/Open files/)).toContain("Ganglion is ready");
	const convert = async (): Promise<unknown> => {
		const form = new FormData();
		form.set("files", new File(["<h1>Title</h1>"], "page.html"));
		const url = `http://127.0.0.1:${port}/client/v4/accounts/local/ai/tomarkdown`;
		return (await fetch(url, { method: "POST", body: form })).json();
	};
	for (const answer of await Promise.all(Array.from({ length: 5 }, convert)))
		expect(answer).toMatchObject({ success: true, result: [{ format: "markdown", data: "# Title\n" }] });
	script.kill("SIGTERM");
	expect(await script.exit).toBe(0);
});

it.each([
	[["doctor", "--state", "state"], "No engine is configured"],
	[["markdown", "page.html"], "# Title"],
	[["try", "@cf/meta/llama-3.3-70b-instruct-fp8-fast", "Hi", "--no-local-engines"], "Simulated reply"],
	[["models", "llama", "--help"], "USAGE"],
])("runs ganglion %j", async (args, output) => {
	const { stdout, stderr } = await ganglion(args, { cwd: folder, env });
	expect(stdout + stderr).toContain(output);
	expect(stderr).not.toContain("TypeError");
});
