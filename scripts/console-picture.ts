/**
 * Writes `docs/console.png`: the playground of the console after one answer of the simulator. It needs a Chromium
 * (`/usr/bin/chromium-headless-shell`, or the variable `CHROMIUM`). `npm run build && node scripts/console-picture.ts`
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { freePort } from "./free-port.ts";

const FILE = resolve("docs/console.png");
const CLI = resolve("dist/cli/index.js");
/** In pixels. */
const SIZE = { width: 1280, height: 900 };
const PROMPT = "Hello, who are you?";

const folder = mkdtempSync(join(tmpdir(), "ganglion-console-picture-"));
const port = await freePort();
const gateway = spawn(process.execPath, [CLI, "dev", "--no-local-engines", "--port", String(port)], {
	cwd: folder,
	stdio: ["ignore", "pipe", "inherit"],
});
const browser = await chromium.launch({
	executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
	args: ["--no-sandbox"],
});
try {
	for await (const text of gateway.stdout) if (String(text).includes("Ctrl-C stops it")) break;
	const page = await browser.newPage({ viewport: SIZE });
	await page.goto(`http://127.0.0.1:${port}/console`);
	await page.getByLabel("Message").fill(PROMPT);
	await page.getByRole("button", { name: "Send" }).click();
	await page.getByText("no model ran").first().waitFor();
	// The facts of the call follow its text.
	await page.waitForLoadState("networkidle");
	await page.screenshot({ path: FILE });
} finally {
	await browser.close();
	const ended = once(gateway, "exit");
	gateway.kill("SIGTERM");
	await ended;
	rmSync(folder, { recursive: true, force: true });
}
