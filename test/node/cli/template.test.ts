/** A new Worker of `ganglion create`, with the packed package, in `wrangler dev`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { freePort } from "../../../scripts/free-port.ts";
import { start, stopHosts } from "../plugin/host.ts";
import { installExample, type Project } from "../plugin/installed.ts";
import { ganglion } from "./run.ts";

const WRANGLER = "node_modules/wrangler/bin/wrangler.js";

let installed: Project;
let folder = "";
beforeAll(() => {
	installed = installExample();
	folder = mkdtempSync(join(tmpdir(), "ganglion-create-"));
});
afterEach(stopHosts);
afterAll(() => {
	installed?.remove();
	rmSync(folder, { recursive: true, force: true });
});

it("creates a Worker that compiles and streams an answer of the local gateway", async () => {
	const cli = join(installed.folder, "node_modules/ganglion/dist/cli/index.js");
	const created = await ganglion(["create", "My Shop"], { cwd: folder, cli });
	expect(created).toMatchObject({ code: 0, stderr: "" });
	const project = { ...installed, folder: join(folder, "My Shop") };
	const { name, devDependencies } = JSON.parse(readFileSync(join(project.folder, "package.json"), "utf8"));
	const { version } = JSON.parse(readFileSync("package.json", "utf8"));
	expect([name, devDependencies.ganglion]).toEqual(["my-shop", `^${version}`]);
	const again = await ganglion(["create", "My Shop"], { cwd: folder, cli });
	expect([again.code, again.stderr]).toEqual([
		1,
		`error: ${project.folder} is not empty: name a new folder\n`,
	]);

	symlinkSync(join(installed.folder, "node_modules"), join(project.folder, "node_modules"), "dir");
	execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit"], { cwd: project.folder });
	const port = String(await freePort());
	await start(project, WRANGLER, "dev", "--port", port).said(/Ready on/);
	const answer = await fetch(
		`http://127.0.0.1:${port}/?prompt=${encodeURIComponent("Reply with exactly: hi")}`,
	);
	expect(await answer.text()).toMatch(/^data: \{"response":"hi"/);
});
