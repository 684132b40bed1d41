/**
 * `npm run serve`: the gateway on a machine of one's own, under plain `workerd`, its accounts on this machine's disk.
 *
 *     npm run serve -- --port 8787 --host 0.0.0.0 --state /var/lib/ganglion --env production
 *
 * Settings are those of `wrangler.jsonc`, or of the file that `--config` names. What the configuration asks for and the
 * environment has comes from there: secrets, and any setting (`ROUTES`, `LIMITS`, …). A secret is written to no file.
 *
 * SIGTERM and SIGINT let the requests under way come to their end, and their bills be written; a second one ends at once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { get } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { modulesIn } from "../miniflare/modules.ts";
import { configure, describeRouting } from "../src/config.ts";
import { readOptions } from "./options.ts";
import { orStop, readVariables, runtimeSettings, stopWith, type Variables, type Where } from "./settings.ts";
import { lockState } from "./state-lock.ts";
import { buildWorker, DIST } from "./worker.ts";
import { type Served, serve } from "./workerd.ts";

const DEFAULTS = { host: "127.0.0.1", port: "8787", state: ".ganglion" };
const USAGE = `npm run serve -- [options]

  --port N         where to listen (${DEFAULTS.port})
  --host ADDRESS   who may reach it: 0.0.0.0 for everyone (${DEFAULTS.host})
  --state FOLDER   accounts, tokens and bills (${DEFAULTS.state})
  --config FILE    instead of wrangler.jsonc
  --env NAME       an environment of that file

Settings and secrets come from the environment first: ADMIN_TOKEN, ROUTES, … (docs/self-hosting.md)`;
/** After SIGTERM. */
const MAX_DRAIN_MS = 60_000;

const options = parseOptions();
const where: Where = options;
const state = resolve(options.state);
const variables = orStop(() => fromEnvironment(readVariables(where)));
const config = orStop(() => configure({ ...variables.vars, ...variables.secrets }));
const unlock =
	lockState(state) ?? stopWith(`another process serves from ${state}: give each its own --state`);
await checkAddress(options.host, options.port);
await buildWorker();

const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
/** Leads to what tells when the last settlement has been written (`src/surfaces/drain.ts`). */
const drainPath = join(folder, "drain");
const served = await serve(
	{
		name: "ganglion",
		modules: modulesIn(join(DIST, "worker")),
		...runtimeSettings(where),
		...variables,
		state: join(state, "objects"),
		host: options.host,
		doors: [{ entrypoint: "Drain", path: drainPath }],
	},
	options.port,
	folder,
);
endWith(served);
console.log(banner(served.url));
const code = await served.ended;
unlock();
process.exit(code ?? 0);

function parseOptions(): { host: string; port: number; state: string; config?: string; env?: string } {
	const text = (byDefault: string) => ({ type: "string", default: byDefault }) as const;
	const values = readOptions(
		{
			host: text(DEFAULTS.host),
			port: text(DEFAULTS.port),
			state: text(DEFAULTS.state),
			config: { type: "string", short: "c" },
			env: { type: "string", short: "e" },
		},
		USAGE,
	);
	const port = Number(values.port);
	if (!Number.isInteger(port) || port < 1 || port > 65_535)
		stopWith(`--port: expected a number from 1 to 65535, found ${values.port}`);
	return { ...values, port };
}

/** What the configuration reads is taken from the environment first. */
function fromEnvironment({ vars, secrets }: Variables): Pick<Variables, "vars" | "secrets"> {
	const found: Record<string, string> = {};
	const given: Record<string, unknown> = { ...vars, ...secrets };
	const recording = new Proxy(given, {
		get(all, name) {
			const value = typeof name === "string" ? process.env[name] : undefined;
			if (value === undefined || typeof name !== "string") return Reflect.get(all, name);
			found[name] = value;
			return value;
		},
	});
	configure(recording);
	const rest = Object.entries(vars).filter(([name]) => !(name in found));
	return { vars: Object.fromEntries(rest), secrets: { ...secrets, ...found } };
}

/** The runtime's own word for it is a page. */
async function checkAddress(host: string, port: number): Promise<void> {
	const server = createServer();
	const failure = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
		server.once("error", resolve);
		server.listen(port, host, () => server.close(() => resolve(undefined)));
	});
	if (failure?.code === "EADDRINUSE") stopWith(`port ${port} of ${host} is in use: give another --port`);
	if (failure) stopWith(`cannot listen on port ${port} of ${host}: ${failure.message}`);
}

function endWith({ pid, stop }: Served): void {
	let asked = false;
	for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
		process.on(signal, async () => {
			if (asked) return void stop();
			asked = true;
			setTimeout(stop, MAX_DRAIN_MS).unref();
			await holdUntilSettled();
			process.kill(pid, "SIGTERM");
		});
}

/** Resolves when the gateway has begun an answer that it ends when all is settled, which its end then waits for. */
function holdUntilSettled(): Promise<void> {
	return new Promise((resolve) => {
		const asked = get({ socketPath: drainPath }, (answer) => {
			answer.resume().on("error", () => {});
			resolve();
		});
		asked.on("error", () => resolve());
	});
}

function banner(url: string): string {
	const lines = describeRouting(config).map((line) => `    ${line}`);
	return `
Ganglion is ready on ${url}

  What serves the models
${lines.join("\n")}

  Accounts and bills are in ${state}
${access()}`;
}

function access(): string {
	if (config.allowAnonymous) return "  Open to everyone who reaches this address (ALLOW_ANONYMOUS).\n";
	if (config.adminToken !== undefined) return "";
	return `
  No ADMIN_TOKEN is set, so nobody can make tokens: every request is refused.
    ADMIN_TOKEN="$(openssl rand -base64 32)" npm run serve
`;
}
