/**
 * `npm run serve`: runs the gateway without Cloudflare, in plain `workerd`, with its accounts on this machine's disk.
 *
 *     npm run serve -- --port 8787 --host 0.0.0.0 --state /var/lib/ganglion --env production
 *
 * Settings come from `wrangler.jsonc`, or from the file of `--config`. Settings and secrets in the environment have precedence
 * (`ROUTES`, `LIMITS`, …). Secrets are written to no file.
 *
 * SIGHUP, or a change of a configuration file, reloads the settings. Running requests keep the old ones.
 *
 * SIGTERM and SIGINT refuse new requests, and wait until running requests are complete and their bills are written. A second
 * signal stops immediately. The exit code is 0 only if no request was interrupted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { stop as stopEsbuild } from "esbuild";
import { modulesIn } from "../miniflare/modules.ts";
import { capacityOf } from "../src/config/capacity.ts";
import { configure, describeRouting } from "../src/config/index.ts";
import { checkAddress } from "./address.ts";
import { guardConnections } from "./connection-guard.ts";
import { buildConsole } from "./console.ts";
import { describeFileLimit, reachFileLimit } from "./file-limit.ts";
import { readOptions } from "./options.ts";
import { reloadOnChange } from "./reload.ts";
import {
	type ConfigLocation,
	fromEnvironment,
	orStop,
	PROJECT_CONFIG,
	readVariables,
	runtimeSettings,
	stopWith,
	type Variables,
	warnings,
} from "./settings.ts";
import { type LockedState, lockState } from "./state-lock.ts";
import { bundleWorker, ROOT } from "./worker.ts";
import { type Served, serve } from "./workerd.ts";

const DEFAULTS = { host: "127.0.0.1", port: "8787", state: join(ROOT, ".ganglion") };
const USAGE = `npm run serve -- [options]

  --port N         the port to listen on (${DEFAULTS.port})
  --host ADDRESS   the address to listen on: 0.0.0.0 for all networks (${DEFAULTS.host})
  --state FOLDER   accounts, tokens and bills (.ganglion)
  --config FILE    instead of wrangler.jsonc
  --env NAME       an environment of that file

Settings and secrets in the environment have precedence: ADMIN_TOKEN, ROUTES, … (docs/self-hosting.md)`;
/** For running answers, after the first signal. */
const MAX_DRAIN_MS = 60_000;
/** One Ctrl-C may arrive twice: from the terminal, and from npm. */
const SAME_SIGNAL_MS = 1_000;

const options = parseOptions();
const location: ConfigLocation = options;
const variables = orStop(() => fromEnvironment(readVariables(location)));
let current = variablesOf(variables);
let config = orStop(() => configure(current));
const state = await lockState(options.state).catch((error: Error) =>
	stopWith(`cannot keep state in ${options.state}: ${error.message}`),
);
await checkAddress(options.host, options.port);
const openFiles = reachFileLimit(config.openFiles);
const capacity = capacityOf(openFiles);
const stopping = stopSignals();
const served = await start(state);
console.log(banner(served.url));
reloadOnChange({
	file: options.config ?? PROJECT_CONFIG,
	socket: state.reloadSocket,
	started: current,
	read() {
		const now = variablesOf(fromEnvironment(readVariables(location)));
		config = configure(now);
		current = now;
		return now;
	},
	applied(milliseconds) {
		console.log(`\nReloaded in ${Math.round(milliseconds)} ms\n\n${serving()}`);
	},
	refused(message) {
		console.error(`Not reloaded, the old configuration stays active. ${message}`);
	},
});
process.exit(await untilEnd(served, state));

async function start({ objects, socket, reloadSocket, servedBy }: LockedState): Promise<Served> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const built = join(folder, "worker");
	await Promise.all([bundleWorker(built), buildConsole()]);
	await stopEsbuild();
	const guardedSocket = openFiles === undefined ? undefined : join(folder, "http.sock");
	const { OPEN_FILES: _, ...secrets } = variables.secrets;
	const spec = {
		name: "ganglion",
		modules: modulesIn(built),
		...runtimeSettings(),
		// The limit that was reached, instead of the one that was set.
		vars: { ...variables.vars, ...(openFiles !== undefined && { OPEN_FILES: String(openFiles) }) },
		secrets,
		...(openFiles !== undefined && { openFiles }),
		...(guardedSocket !== undefined && { unixSocket: guardedSocket }),
		state: objects,
		host: options.host,
		entrypointSockets: [
			{ entrypoint: "Drain", path: socket },
			{ entrypoint: "Reload", path: reloadSocket },
		],
		detached: true,
	};
	const served = await serve(spec, options.port, folder).catch((error: Error) =>
		stopWith(`workerd cannot be started: ${error.message}`),
	);
	servedBy(served.pid);
	if (guardedSocket !== undefined)
		await guardConnections({
			...options,
			target: guardedSocket,
			maxConnections: capacity.connections,
			idleMs: () => config.limits.holdMs,
		});
	// workerd must not outlive this script.
	process.on("exit", () => signal(served.pid, "SIGKILL"));
	return served;
}

/** The first signal drains, for at most a minute. The second one stops immediately. Returns the exit code. */
async function untilEnd({ ended, pid, stop }: Served, { socket, unlock }: LockedState): Promise<number> {
	const { drained, end } = holdOpen(socket);
	void stopping.first.then(async () => {
		console.log("Waiting for running answers, at most a minute. Press Ctrl-C again to stop immediately.");
		setTimeout(stop, MAX_DRAIN_MS).unref();
		end();
		if (await drained) signal(pid, "SIGTERM");
	});
	void stopping.again.then(stop);
	const exit = await ended;
	unlock();
	if (!stopping.isRequested) console.error(`workerd has stopped by itself (${exit}).`);
	else if (exit === 0 && (await drained)) return 0;
	else console.error("Running requests were interrupted. They are charged their reservations.");
	return 1;
}

/** The process may have exited. */
function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch {
		// It has exited.
	}
}

interface StopSignals {
	readonly isRequested: boolean;
	first: Promise<void>;
	again: Promise<void>;
}

/** SIGINT and SIGTERM: the first one, and a second one that is not a copy of the first. */
function stopSignals(): StopSignals {
	const first = Promise.withResolvers<void>();
	const again = Promise.withResolvers<void>();
	let since: number | undefined;
	const onSignal = (): void => {
		if (since === undefined) first.resolve();
		else if (performance.now() - since > SAME_SIGNAL_MS) again.resolve();
		since ??= performance.now();
	};
	for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, onSignal);
	return {
		get isRequested() {
			return since !== undefined;
		},
		first: first.promise,
		again: again.promise,
	};
}

/**
 * Sends a request that stays open until `end`. Its response ends when everything is settled. The runtime waits for open
 * requests, so it drains even if a supervisor sends the stop signal to all processes.
 */
function holdOpen(socketPath: string): { end(): void; drained: Promise<boolean> } {
	const { promise: drained, resolve } = Promise.withResolvers<boolean>();
	const drainRequest = request({ socketPath, method: "POST" }, (answer) => {
		answer.resume();
		answer.once("end", () => resolve(answer.complete));
		answer.once("error", () => resolve(false));
	});
	drainRequest.once("error", () => resolve(false));
	drainRequest.flushHeaders();
	return { drained, end: () => void drainRequest.end() };
}

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
	if (values.host === "") stopWith("--host: expected an address, found nothing");
	if (!Number.isInteger(port) || port < 1 || port > 65_535)
		stopWith(`--port: expected a number from 1 to 65535, found ${values.port}`);
	const from = process.env.INIT_CWD ?? process.cwd();
	return {
		...values,
		port,
		host: values.host.replace(/^\[(.*)\]$/, "$1"),
		state: resolve(from, values.state),
		...(values.config !== undefined && { config: resolve(from, values.config) }),
	};
}

function variablesOf({ vars, secrets }: Pick<Variables, "vars" | "secrets">): Record<string, unknown> {
	return { ...vars, ...secrets };
}

function serving(): string {
	const lines = describeRouting(config).map((line) => `    ${line}\n`);
	const servesNothing = config.routing.routes.length === 0 && current.DEFAULT_BACKEND === undefined;
	const hint = servesNothing ? "    Set BACKENDS and ROUTES (docs/configuration.md)\n" : "";
	return `  What serves the models\n${lines.join("")}${hint}${warnings(config, current)}`;
}

function banner(url: string): string {
	return `
Ganglion is ready on ${url}

${serving()}
  Accounts and bills are in ${options.state}
${describeFileLimit(openFiles, capacity.connections)}${access()}`;
}

function access(): string {
	if (config.allowAnonymous) return "  Open to everyone who can reach this address (ALLOW_ANONYMOUS).\n";
	if (config.adminToken !== undefined) return "";
	return `
  No ADMIN_TOKEN is set. Existing tokens work, but you cannot create new ones.
  To create tokens, stop the gateway, set this, and start it again (docs/accounts.md):
    export ADMIN_TOKEN="$(openssl rand -base64 32)"
`;
}
