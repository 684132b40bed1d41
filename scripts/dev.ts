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
import { parseArgs } from "node:util";
import { modulesIn } from "../miniflare/modules.ts";
import { configure, describeRouting } from "../src/config/index.ts";
import { DOCUMENTS_BINDING } from "../src/config/worker-bindings.ts";
import { asQuestion, didYouMean, misspelledNames } from "../src/core/did-you-mean.ts";
import { checkAddress } from "./address.ts";
import { collectGarbage } from "./collect-garbage.ts";
import { readVariables } from "./config-file.ts";
import { DEV_VARS, devBanner, linesOfEngines, localEngines as localEnginesFor } from "./dev-settings.ts";
import { startConverter } from "./documents/converter.ts";
import type { LocalSettings } from "./engines/local.ts";
import { USUAL_PORTS } from "./engines/probe.ts";
import { SERVED_BUILD } from "./internal-names.ts";
import { refuseNpmOptions } from "./options.ts";
import { endWithThisProcess, whenParentExits } from "./parent.ts";
import { DIST } from "./root.ts";
import { configureNaming, orStop, PROJECT_CONFIG, warnings } from "./settings.ts";
import { stopWith } from "./stop-with.ts";

const DEFAULT_PORT = "8787";
const BUILT_WORKER = join(DIST, "worker/index.js");

const DEV_OPTIONS = [
	"port",
	"env",
	"config",
	"state",
	"local-engines",
	"engine-ports",
	"engine",
	"pull",
	"var",
];
/** The options that wrangler does not know. */
const OWN_OPTIONS = ["state", "local-engines", "engine-ports", "engine", "pull"];
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

const args = process.argv.slice(2);
const { values, tokens } = parseArgs({
	args,
	options: {
		port: { type: "string" },
		env: { type: "string", short: "e" },
		config: { type: "string", short: "c" },
		state: { type: "string" },
		"local-engines": { type: "boolean" },
		"engine-ports": { type: "string" },
		engine: { type: "string" },
		pull: { type: "boolean" },
		var: { type: "string", multiple: true },
		help: { type: "boolean", short: "h" },
	},
	strict: false,
	allowNegative: true,
	tokens: true,
});
refuseNpmOptions(DEV_OPTIONS);
if (values.help) {
	console.log(USAGE);
	process.exit(0);
}
refuseMisspelledOptions();
const port = typeof values.port === "string" ? values.port : DEFAULT_PORT;
const address = ["127.0.0.1", readPort(port)] as const;
const cliVars = variablesOfArguments();
const enginePorts =
	typeof values["engine-ports"] === "string" ? portsIn(values["engine-ports"]) : values["local-engines"];
if (values.state === true || values.state === "") stopWith("--state: expected a folder");
const runsModels = readEngine();
const vars = orStop(variables);
// With `--engine local` the routes may name a backend that its start adds.
if (!runsModels) orStop(() => configureNaming({ ...vars, ...DEV_VARS, ...cliVars }));
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
		...(values.port === undefined ? ["--port", port] : []),
		...(typeof values.state === "string" ? ["--persist-to", values.state] : []),
		"--show-interactive-dev-session=false",
		...Object.entries({ ...DEV_VARS, [DOCUMENTS_BINDING]: converter.address }).flatMap(([name, value]) => [
			"--var",
			`${name}:${value}`,
		]),
		...argsOfWrangler(),
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

/** Removes the arguments that only this script reads. */
function argsOfWrangler(): string[] {
	const ownOptions = (tokens ?? []).filter(
		(token) => token.kind === "option" && OWN_OPTIONS.includes(token.name),
	);
	const positions = ownOptions.flatMap((token) =>
		token.kind === "option" && token.value !== undefined && !token.inlineValue
			? [token.index, token.index + 1]
			: [token.index],
	);
	return args.filter((_, position) => !positions.includes(position));
}

/** The variables of the Worker. */
function variables(): Record<string, unknown> {
	const env = typeof values.env === "string" ? values.env : undefined;
	const config = typeof values.config === "string" ? values.config : PROJECT_CONFIG;
	const { vars, secrets, bindings } = readVariables({ config, env });
	return { ...vars, ...secrets, ...bindings };
}

/** wrangler prints its own message above its list of all options. */
function refuseMisspelledOptions(): void {
	for (const token of tokens ?? []) {
		if (token.kind !== "option" || DEV_OPTIONS.includes(token.name)) continue;
		const [near] = misspelledNames(token.name, DEV_OPTIONS, (name) => name);
		if (near !== undefined) stopWith(`${token.rawName}: no option has this name${asQuestion(`--${near}`)}`);
	}
}

function readPort(text: string): number {
	const port = Number(text);
	if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
	return stopWith(`--port: expected a number up to 65535, found ${text}`);
}

/** Parses variables as wrangler does: `--var A:1 B:2 --var C:3`. */
function variablesOfArguments(): Record<string, string> {
	const found: Record<string, string> = {};
	let inVar = false;
	for (const token of tokens ?? []) {
		if (token.kind === "option") inVar = token.name === "var";
		if (!inVar || token.kind === "option-terminator") continue;
		const [name = "", ...value] = (token.value ?? "").split(":");
		if (name === "" || value.length === 0)
			stopWith(`--var: expected NAME:VALUE, found ${token.value === undefined ? "nothing" : name}`);
		found[name] = value.join(":");
	}
	return found;
}

async function localEngines(): Promise<LocalSettings | undefined> {
	return localEnginesFor(typeof enginePorts === "string" ? undefined : enginePorts, { ...vars, ...cliVars });
}

/** Whether this machine runs models itself. */
function readEngine(): boolean {
	const { engine, pull = false } = values;
	if (engine === undefined && !pull) return false;
	if (engine === "local") return true;
	const found = typeof engine === "string" ? `${engine}${didYouMean(engine, ["local"])}` : "nothing";
	return stopWith(`--engine: expected local, found ${found}`);
}

/** Models that this machine runs itself. They end with this process. */
async function localModels() {
	if (!runsModels) return undefined;
	const { LocalEngine } = await import("./local-engine/index.ts");
	const { describeLibrary, localSettings } = await import("./local-engine/settings.ts");
	const pulls = values.pull === true;
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

function portsIn(text: string): number[] {
	const ports = text.split(",").map(Number);
	if (ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)) return ports;
	return stopWith("--engine-ports: expected numbers with commas between them, such as 11434,8080");
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
