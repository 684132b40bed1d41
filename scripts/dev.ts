/**
 * `npm run dev`: the gateway under `wrangler dev`, open to everyone on this machine, with the simulator behind every
 * model that no route names; where no route is written at all, engines that run on this machine come before it
 * (`engines/`). Says once, cleanly, what serves the models; after that the log is wrangler's.
 *
 * Arguments go on to wrangler (`npm run dev -- --port 9000 --env staging`), but for those about engines:
 * `--no-local-engines`; `--local-engines`, also in CI; `--engine-ports 11434,9000`, to look elsewhere.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { parseArgs } from "node:util";
import { configure, describeRouting } from "../src/config/index.ts";
import { checkAddress } from "./address.ts";
import { type LocalSettings, portsWithoutEngine, settingsFor, wantsLocalEngines } from "./engines/local.ts";
import { findEngines } from "./engines/probe.ts";
import { refuseNpmOptions } from "./options.ts";
import { orStop, readVariables, stopWith, warnings } from "./settings.ts";

const DEV_VARS = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" };
const DEFAULT_PORT = "8787";
const PARENT_CHECK_MS = 1000;
/** Whoever names a port knows that an engine is there, which may be busy. */
const NAMED_PORT_MS = 3000;

const OWN_OPTIONS = ["port", "env", "config", "local-engines", "engine-ports", "var"];
const USAGE = `npm run dev -- [options]

  --port N                where to listen (${DEFAULT_PORT})
  --config FILE           instead of wrangler.jsonc
  --env NAME              an environment of that file
  --var NAME:VALUE        a variable, such as ROUTES:{"*":[{"backend":"simulator"}]}
  --no-local-engines      do not look for engines on this machine
  --local-engines         look for them, also in CI
  --engine-ports N,N      where to look (11434,8080,8000,1234)

Every other option goes to wrangler dev: npx wrangler dev --help shows them`;

const args = process.argv.slice(2);
const { values, tokens } = parseArgs({
	args,
	options: {
		port: { type: "string" },
		env: { type: "string", short: "e" },
		config: { type: "string", short: "c" },
		"local-engines": { type: "boolean" },
		"engine-ports": { type: "string" },
		var: { type: "string", multiple: true },
		help: { type: "boolean", short: "h" },
	},
	strict: false,
	allowNegative: true,
	tokens: true,
});
refuseNpmOptions(OWN_OPTIONS);
if (values.help) {
	console.log(USAGE);
	process.exit(0);
}
const port = typeof values.port === "string" ? values.port : DEFAULT_PORT;

const vars = orStop(variables);
const cliVars = variablesOfArguments();
await checkAddress("127.0.0.1", readPort(port));
const local = await localEngines();
const lines = orStop(routingLines);
const notes = orStop(() => warnings(configure(variablesOfWorker()), vars));
const child = spawn(
	process.execPath,
	[
		join(import.meta.dirname, "../node_modules/wrangler/bin/wrangler.js"),
		"dev",
		...(values.port === undefined ? ["--port", port] : []),
		"--show-interactive-dev-session=false",
		...Object.entries(DEV_VARS).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
		...(local ? ["--var", `BACKENDS:${JSON.stringify(local.BACKENDS)}`] : []),
		...(local ? ["--var", `ROUTES:${JSON.stringify(local.ROUTES)}`] : []),
		...argsOfWrangler(),
	],
	{
		stdio: ["inherit", "pipe", "pipe"],
		// The runtime works without the sample of `request.cf` that wrangler would fetch, and says so at length.
		env: { CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false", ...process.env },
	},
);
announceWhenReady(child);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
// npm's shell does not pass a signal on: when it is gone, so is who started us.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), PARENT_CHECK_MS).unref();
child.on("exit", (code, signal) => process.exit(signal ? 0 : (code ?? 1)));

/** Arguments about engines are for this script alone. */
function argsOfWrangler(): string[] {
	const own = (tokens ?? []).filter(
		(token) => token.kind === "option" && ["local-engines", "engine-ports"].includes(token.name),
	);
	const places = own.flatMap((token) =>
		token.kind === "option" && token.value !== undefined && !token.inlineValue
			? [token.index, token.index + 1]
			: [token.index],
	);
	return args.filter((_, place) => !places.includes(place));
}

/** What the Worker will have. */
function variables(): Record<string, unknown> {
	const env = typeof values.env === "string" ? values.env : undefined;
	const config = typeof values.config === "string" ? values.config : undefined;
	const { vars, secrets, ai } = readVariables({ config, env });
	// A backend may name the binding, which is the runtime's to make.
	return { ...vars, ...secrets, ...(ai !== undefined && { [ai]: { run: () => {} } }) };
}

function readPort(text: string): number {
	const port = Number(text);
	if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
	return stopWith(`--port: expected a number up to 65535, found ${text}`);
}

/** As wrangler reads them: `--var A:1 B:2 --var C:3`. */
function variablesOfArguments(): Record<string, string> {
	const found: Record<string, string> = {};
	let inVar = false;
	for (const token of tokens ?? []) {
		if (token.kind === "option") inVar = token.name === "var";
		if (!inVar || token.kind === "option-terminator") continue;
		const [name = "", ...value] = (token.value ?? "").split(":");
		if (name && value.length > 0) found[name] = value.join(":");
	}
	return found;
}

async function localEngines(): Promise<LocalSettings | undefined> {
	const ports = values["engine-ports"];
	const wanted = typeof ports === "string" ? portsIn(ports) : values["local-engines"];
	if (
		!wantsLocalEngines(typeof wanted === "string" ? undefined : wanted, { ...vars, ...cliVars }, process.env)
	)
		return undefined;
	const asked = Array.isArray(wanted) ? { ports: wanted, timeoutMs: NAMED_PORT_MS } : {};
	const engines = await findEngines(asked);
	if (Array.isArray(wanted))
		for (const line of portsWithoutEngine(wanted, engines)) console.error(`--engine-ports: ${line}`);
	return settingsFor(engines, Date.now());
}

function portsIn(text: string): number[] {
	const ports = text.split(",").map(Number);
	if (ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536)) return ports;
	console.error("--engine-ports: expected numbers with commas between them, such as 11434,8080");
	process.exit(1);
}

function variablesOfWorker(): Record<string, unknown> {
	return { ...vars, ...local, ...DEV_VARS, ...cliVars };
}

/** The same parse that stops the Worker's start, before anything is started. */
function routingLines(): string[] {
	const config = configure(variablesOfWorker());
	if (!local) return describeRouting(config);
	// As written: a line for each model of the catalogue would be a page.
	return [
		...local.lines,
		"everything else  ->  simulator",
		"",
		"(--no-local-engines leaves these engines alone)",
	];
}

/** What wrangler tells of the Worker's modules each time that they are built: a page. */
const MODULE_TABLE = /^(?:Attaching additional modules:|[┌├│└].*)$/;

/** Holds back what wrangler says until it is ready; shows it if it never is. */
function announceWhenReady({ stdout, stderr }: ChildProcess): void {
	let held = "";
	let ready = false;
	const pass = (from: Readable | null, to: NodeJS.WriteStream) => {
		if (!from) return;
		createInterface({ input: from }).on("line", (line) => {
			if (ready) return void (MODULE_TABLE.test(line) || to.write(`${line}\n`));
			if (!MODULE_TABLE.test(line)) held += `${line}\n`;
			const url = /Ready on (http\S+)/.exec(line)?.[1];
			if (!url) return;
			ready = true;
			console.log(banner(url));
		});
	};
	pass(stdout, process.stdout);
	pass(stderr, process.stderr);
	process.on("exit", () => {
		if (!ready) process.stderr.write(held);
	});
}

function banner(url: string): string {
	return `
Ganglion is ready on ${url}

  What serves the models
${lines.map((line) => `    ${line}`).join("\n")}
${notes}
  Try it
    curl -N ${url}/client/v4/accounts/local/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast \\
      -d '{"messages":[{"role":"user","content":"Hello, who are you?"}],"stream":true}'

  Open to everyone who reaches this address (ALLOW_ANONYMOUS), for development only. Ctrl-C stops it.
`;
}
