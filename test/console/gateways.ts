/**
 * Global setup of the browser tests: the console in both runtimes, with an engine that streams until it is released.
 * `ganglion serve` requires tokens and has two accounts; `npm run dev` is open.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { buildConsole } from "../../scripts/console.ts";
import { freePort } from "../../scripts/free-port.ts";
import { BUCKET, writeBucketState } from "../bucket-state.ts";
import { CLI } from "../node/cli/run.ts";
import { runScript, type Script, stopScripts } from "../node/script.ts";
import { CHROMIUM } from "./chromium.ts";
import { startEngine } from "./engine.ts";

declare module "vitest" {
	interface ProvidedContext {
		/** Address of the browser's debugger. */
		browser: string;
		/** Origins. */
		serve: string;
		dev: string;
		/** The engine of the model {@link ENGINE_MODEL}. */
		engine: string;
	}
}

const BROWSER_FLAGS = [
	"--no-sandbox",
	"--disable-gpu",
	"--disable-quic",
	"--no-first-run",
	"--disable-background-networking",
	"--disable-component-update",
	"--disable-sync",
	// A microphone that beeps.
	"--use-fake-device-for-media-stream",
	"--use-fake-ui-for-media-stream",
	// The tabs of an origin share a process: it starts once, and has compiled the scripts.
	"--process-per-site",
	"--renderer-process-limit=2",
	// No page runs as long as its optimized code would take to compile.
	"--js-flags=--no-maglev --no-turbofan",
];

export const ADMIN_TOKEN = "the-operator-of-the-console-tests";
export const ENGINE_MODEL = "@cf/meta/llama-3.2-3b-instruct";
/** Its route has a shadow. */
export const SHADOWED_MODEL = "@cf/meta/llama-3-8b-instruct";
/** A route of many models. */
export const PATTERN = "@cf/baai/*";
/** A backend whose replica a test may drain, because no other test needs it. */
export const SPARE = "spare";
/** The first account on `serve`, in which an operator's session begins. Other tests of the operator add requests to it. */
export const OPERATOR_ACCOUNT = "a-operator";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	if (CHROMIUM === undefined) throw new Error("The tests of the console need Chromium");
	const state = mkdtempSync(join(tmpdir(), "ganglion-console-"));
	const launching = chromium.launchServer({ executablePath: CHROMIUM, args: BROWSER_FLAGS });
	await buildConsole();
	const engine = await startEngine();
	const settings = {
		DEFAULT_BACKEND: "simulator",
		BACKENDS: JSON.stringify({
			engine: { kind: "openai", url: `${engine.url}/v1` },
			[SPARE]: { kind: "openai", url: `${engine.url}/${SPARE}/v1` },
		}),
		ROUTES: JSON.stringify({
			[ENGINE_MODEL]: [{ backend: "engine", model: "slow" }],
			[SHADOWED_MODEL]: {
				targets: [{ backend: "simulator" }],
				shadow: { name: "candidate", backend: "simulator", share: 1 },
			},
			[PATTERN]: [{ backend: "simulator" }],
			// A pattern, because a name would add a model to the catalogue.
			"acme/*": [{ backend: SPARE }],
		}),
		LIMITS: JSON.stringify({ daily_neurons: 1_000_000, requests_per_minute: "none" }),
	};
	const [port, devPort] = [await freePort(), await freePort()];
	const websites = JSON.stringify({ allow_network: true, allow_private_addresses: true });
	const serve = runScript(CLI, ["serve", "--port", String(port), "--state", join(state, "serve")], {
		env: { ...settings, AI_SEARCH: websites, ADMIN_TOKEN },
	});
	const devState = join(state, "dev");
	const config = configWithoutBuild(state);
	await writeBucketState(devState);
	const buckets = JSON.stringify({ buckets: { [BUCKET]: { binding: "MANUALS" } } });
	const variables = Object.entries({ ...settings, AI_SEARCH: buckets }).flatMap(([name, value]) => [
		"--var",
		`${name}:${value}`,
	]);
	const dev = runScript("scripts/dev.ts", [
		...["--port", String(devPort), "--inspector-port", String(await freePort())],
		...["--config", config, "--no-local-engines", "--persist-to", devState],
		...variables,
	]);
	await Promise.all([serve, dev].map(ready));
	// The account in which a session begins does not depend on the accounts that the tests create.
	await fetch(`http://127.0.0.1:${devPort}/client/v4/accounts/local/ai/usage/requests`);
	await fetch(`http://127.0.0.1:${port}/client/v4/accounts/${OPERATOR_ACCOUNT}/ai/usage/requests`, {
		headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
	});
	const browser = await launching;
	project.provide("browser", browser.wsEndpoint());
	project.provide("serve", `http://127.0.0.1:${port}`);
	project.provide("dev", `http://127.0.0.1:${devPort}`);
	project.provide("engine", engine.url);
	return async () => {
		stopScripts();
		await Promise.all([serve.exit, dev.exit, browser.close()]);
		await engine.stop();
		rmSync(state, { recursive: true, force: true, maxRetries: 5 });
	};
}

/**
 * The project's configuration, with a build that does nothing: the setups before have built what the gateway serves. Without a build of
 * its own, wrangler would start the gateway anew for each of the 100 files that another test's build replaces.
 */
function configWithoutBuild(folder: string): string {
	const path = join(folder, "wrangler.jsonc");
	const watched = join(folder, "sources");
	mkdirSync(watched);
	const build = { command: "node --version", watch_dir: watched };
	const text = readFileSync("wrangler.jsonc", "utf8");
	const bucket = { binding: "MANUALS", bucket_name: BUCKET };
	const changed = text
		.replace("{", `{ "r2_buckets": [${JSON.stringify(bucket)}],`)
		.replace(/^\t"build": .*$/m, `"build": ${JSON.stringify(build)},`)
		.replace('"dist/deploy/index.js"', JSON.stringify(resolve("dist/worker/index.js")))
		.replace('"console/site"', JSON.stringify(resolve("console/site")));
	writeFileSync(path, changed);
	return path;
}

async function ready(script: Script): Promise<void> {
	const output = await script.until(/Ganglion is ready on/);
	if (!output.includes("Ganglion is ready on")) throw new Error(output);
}
