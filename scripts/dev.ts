/**
 * `npm run dev`: runs the gateway in `wrangler dev`, without authentication on this machine. The simulator serves all models
 * without a route. If no route is configured, engines that run on this machine come first (`engines/`). Prints once what
 * serves the models; later output is wrangler's.
 *
 * Arguments are passed to wrangler (`npm run dev -- --port 9000 --env staging`), except those about engines:
 * `--no-local-engines`; `--local-engines`, also in CI; `--engine-ports 11434,9000`, for other ports; `--engine local` and `--pull`, for models
 * that run on this machine; and `--state`, as `ganglion dev` has it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { modulesIn } from "../miniflare/modules.ts";
import { configure, describeRouting } from "../src/config/index.ts";
import { DOCUMENTS_BINDING } from "../src/config/worker-bindings.ts";
import { checkAddress } from "./address.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { DEFAULT_PORT, DEV_OPTIONS, readDevArguments } from "./dev-arguments.ts";
import { DEV_VARS, devBanner, linesOfEngines, localEngines as localEnginesFor } from "./dev-settings.ts";
import { startConverter } from "./documents/converter.ts";
import type { LocalSettings } from "./engines/local.ts";
import { USUAL_PORTS } from "./engines/probe.ts";
import { SERVED_BUILD } from "./internal-names.ts";
import { refuseNpmOptions } from "./options.ts";
import { endWithThisProcess, whenParentExits } from "./parent.ts";
import { DIST } from "./root.ts";
import { configureNaming, orStop, warnings } from "./settings.ts";
import { stopWith } from "./stop-with.ts";

const BUILT_WORKER = join(DIST, "worker/index.js");

const USAGE = `npm run dev -- [options]

  --port N                the port to listen on (${DEFAULT_PORT})
  --config FILE           instead of wrangler.jsonc
  --env NAME              an environment of that file
  --state FOLDER          for accounts and logs (.wrangler/state)
  --var NAME:VALUE        a variable, such as ROUTES:{"*":[{"backend":"simulator"}]}
  --no-local-engines      do not search for engines on this machine
  --local-engines         search for them, also in CI
  --engine-ports N,N      ports to search (${USUAL_PORTS.join()})
  --engine local          run models on this machine (docs/local-engine.md)
  --pull                  with it: download weights at their first use

All other options are passed to wrangler dev: npx wrangler dev --help`;

refuseNpmOptions(DEV_OPTIONS);
const options = orStop(() => readDevArguments(process.argv.slice(2)));
if (options.help) {
	console.log(USAGE);
	process.exit(0);
}
const { address, cliVars, enginePorts, port, pulls, runsModels, state, vars } = options;
await checkAddress(...address);
const models = await localModels();
const local = models ? undefined : await localEngines();
const added: Record<string, unknown> = models?.settings ?? {
	...(local && { BACKENDS: local.BACKENDS, ROUTES: local.ROUTES }),
};
const lines = orStop(routingLines);
const notes =
	(models?.lines() ?? "") + orStop(() => warnings(configure(variablesOfWorker()), { ...vars, ...cliVars }));
const converter = await startConverter(async () => modulesIn(join(DIST, "documents")));
const child = spawn(
	process.execPath,
	[
		"--import",
		pathToFileURL(join(import.meta.dirname, "collect-when-idle.mjs")).href,
		join(import.meta.dirname, "../node_modules/wrangler/bin/wrangler.js"),
		"dev",
		// Not `main` of the configuration, which a deployment writes without some parts.
		BUILT_WORKER,
		...(port === undefined ? ["--port", DEFAULT_PORT] : []),
		...(state === undefined ? [] : ["--persist-to", state]),
		"--show-interactive-dev-session=false",
		...Object.entries({ ...DEV_VARS, [DOCUMENTS_BINDING]: converter.address }).flatMap(([name, value]) => [
			"--var",
			`${name}:${value}`,
		]),
		...options.wranglerArguments,
		// After those of the command line, which they contain.
		...Object.entries(added).flatMap(([name, value]) => [
			"--var",
			`${name}:${typeof value === "string" ? value : JSON.stringify(value)}`,
		]),
	],
	{
		stdio: ["inherit", "pipe", "pipe"],
		env: {
			// The runtime works without the sample of `request.cf` that wrangler would fetch, but prints a long warning.
			CLOUDFLARE_CF_FETCH_ENABLED: "false",
			WRANGLER_SEND_METRICS: "false",
			// The C library returns what wrangler has collected to the system: 70 MB, which it would otherwise keep.
			MALLOC_TRIM_THRESHOLD_: "131072",
			[SERVED_BUILD]: "1",
			...process.env,
		},
	},
);
endWithThisProcess(child);
announceWhenReady(child);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
whenParentExits(() => child.kill("SIGTERM"));
child.on("exit", (code, signal) => process.exit(signal ? 0 : (code ?? 1)));

async function localEngines(): Promise<LocalSettings | undefined> {
	return localEnginesFor(enginePorts, { ...vars, ...cliVars });
}

/** Models that this machine runs itself. They end with this process. */
async function localModels() {
	if (!runsModels) return undefined;
	const { LocalEngine } = await import("./local-engine/index.ts");
	const { describeLibrary, localSettings } = await import("./local-engine/settings.ts");
	const started = await LocalEngine.start({ env: process.env, pulls, log: console.log }).catch((error) =>
		stopWith(error instanceof Error ? error.message : String(error)),
	);
	return {
		settings: orStop(() => localSettings(started, { ...vars, ...cliVars }, Date.now())),
		lines: () =>
			`\n${describeLibrary(started, pulls)
				.map((line) => `  ${line}\n`)
				.join("")}`,
	};
}

function variablesOfWorker(): Record<string, unknown> {
	return { ...vars, ...DEV_VARS, ...cliVars, ...added };
}

/** Uses the Worker's own parser, so that mistakes stop the command before anything starts. */
function routingLines(): string[] {
	const config = configureNaming(variablesOfWorker());
	return local ? linesOfEngines(local) : describeRouting(config);
}

/** Matches the long list of modules that wrangler prints after each build. */
const MODULE_TABLE = /^(?:Attaching additional modules:|[┌├│└].*)$/;

/** Buffers wrangler's output until it is ready. Prints the buffer if wrangler exits before. */
function announceWhenReady({ stdout, stderr }: ChildProcess): void {
	let buffered = "";
	let ready = false;
	const pass = (from: Readable | null, to: NodeJS.WriteStream) => {
		if (!from) return;
		createInterface({ input: from }).on("line", (line) => {
			if (ready) return void (MODULE_TABLE.test(line) || to.write(`${line}\n`));
			if (!MODULE_TABLE.test(line)) buffered += `${line}\n`;
			const url = /Ready on (http\S+)/.exec(line)?.[1];
			if (!url) return;
			ready = true;
			collectGarbage();
			console.log(devBanner({ url, lines, notes }));
		});
	};
	pass(stdout, process.stdout);
	pass(stderr, process.stderr);
	process.on("exit", () => {
		if (!ready) process.stderr.write(buffered);
	});
}
