/**
 * `npm run serve`: the gateway on a machine of one's own, under plain `workerd`, its accounts on this machine's disk.
 *
 *     npm run serve -- --port 8787 --host 0.0.0.0 --state /var/lib/ganglion --env production
 *
 * Settings are those of `wrangler.jsonc`, or of the file that `--config` names. What the configuration asks for and the
 * environment has comes from there: secrets, and any setting (`ROUTES`, `LIMITS`, …). A secret is written to no file.
 *
 * SIGHUP, and a change of the configuration's files, reload the settings: requests under way keep the old ones.
 *
 * SIGTERM and SIGINT let nothing new in, and let the requests under way come to their end and their bills be written; a
 * second one ends at once. Ends with 0 only where nothing was cut.
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
import { describeFileLimit, reachFileLimit } from "./file-limit.ts";
import { readOptions } from "./options.ts";
import { reloadOnChange } from "./reload.ts";
import {
	fromEnvironment,
	OWN_CONFIG,
	orStop,
	readVariables,
	runtimeSettings,
	stopWith,
	type Variables,
	type Where,
	warnings,
} from "./settings.ts";
import { type LockedState, lockState } from "./state-lock.ts";
import { bundleWorker, ROOT } from "./worker.ts";
import { type Served, serve } from "./workerd.ts";

const DEFAULTS = { host: "127.0.0.1", port: "8787", state: join(ROOT, ".ganglion") };
const USAGE = `npm run serve -- [options]

  --port N         where to listen (${DEFAULTS.port})
  --host ADDRESS   who may reach it: 0.0.0.0 for everyone (${DEFAULTS.host})
  --state FOLDER   accounts, tokens and bills (.ganglion)
  --config FILE    instead of wrangler.jsonc
  --env NAME       an environment of that file

Settings and secrets come from the environment first: ADMIN_TOKEN, ROUTES, … (docs/self-hosting.md)`;
/** For the answers under way, after the first signal. */
const MAX_DRAIN_MS = 60_000;
/** One Ctrl-C may come twice: to all processes of a terminal, and from npm. */
const SAME_SIGNAL_MS = 1_000;

const options = parseOptions();
const where: Where = options;
const variables = orStop(() => fromEnvironment(readVariables(where)));
let current = allOf(variables);
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
	file: options.config ?? OWN_CONFIG,
	socket: state.reloadSocket,
	started: current,
	read() {
		const now = allOf(fromEnvironment(readVariables(where)));
		config = configure(now);
		current = now;
		return now;
	},
	applied(milliseconds) {
		console.log(`\nReloaded in ${Math.round(milliseconds)} ms\n\n${serving()}`);
	},
	refused(message) {
		console.error(`Not reloaded, the configuration stays as it was. ${message}`);
	},
});
process.exit(await untilEnd(served, state));

async function start({ objects, socket, reloadSocket, servedBy }: LockedState): Promise<Served> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const built = join(folder, "worker");
	await bundleWorker(built);
	await stopEsbuild();
	const behind = openFiles === undefined ? undefined : join(folder, "http.sock");
	const { OPEN_FILES: _, ...secrets } = variables.secrets;
	const spec = {
		name: "ganglion",
		modules: modulesIn(built),
		...runtimeSettings(),
		// The limit that was reached, instead of the one that was set.
		vars: { ...variables.vars, ...(openFiles !== undefined && { OPEN_FILES: String(openFiles) }) },
		secrets,
		...(openFiles !== undefined && { openFiles }),
		...(behind !== undefined && { behind }),
		state: objects,
		host: options.host,
		doors: [
			{ entrypoint: "Drain", path: socket },
			{ entrypoint: "Reload", path: reloadSocket },
		],
		detached: true,
	};
	const served = await serve(spec, options.port, folder).catch((error: Error) =>
		stopWith(`workerd cannot be started: ${error.message}`),
	);
	servedBy(served.pid);
	if (behind !== undefined)
		await guardConnections({
			...options,
			target: behind,
			maxConnections: capacity.connections,
			idleMs: () => config.limits.holdMs,
		});
	// workerd must not outlive this script.
	process.on("exit", () => signal(served.pid, "SIGKILL"));
	return served;
}

/** The first signal drains, for a minute at most; the second ends at once. Returns the exit code. */
async function untilEnd({ ended, pid, stop }: Served, { socket, unlock }: LockedState): Promise<number> {
	const { drained, end } = holdOpen(socket);
	void stopping.first.then(async () => {
		console.log("Waiting for the answers under way, a minute at most. Ctrl-C again ends at once.");
		setTimeout(stop, MAX_DRAIN_MS).unref();
		end();
		if (await drained) signal(pid, "SIGTERM");
	});
	void stopping.again.then(stop);
	const how = await ended;
	unlock();
	if (!stopping.isRequested) console.error(`workerd has ended by itself (${how}).`);
	else if (how === 0 && (await drained)) return 0;
	else console.error("Requests under way were cut: they are billed as reserved.");
	return 1;
}

/** To a process that may have ended. */
function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch {
		// It has.
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
 * A request that lasts until `end`, and is then answered when all is settled. It is under way all the time, so that the
 * runtime waits for it also where a supervisor has told all processes at once to stop.
 */
function holdOpen(socketPath: string): { end(): void; drained: Promise<boolean> } {
	const { promise: drained, resolve } = Promise.withResolvers<boolean>();
	const held = request({ socketPath, method: "POST" }, (answer) => {
		answer.resume();
		answer.once("end", () => resolve(answer.complete));
		answer.once("error", () => resolve(false));
	});
	held.once("error", () => resolve(false));
	held.flushHeaders();
	return { drained, end: () => void held.end() };
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

function allOf({ vars, secrets }: Pick<Variables, "vars" | "secrets">): Record<string, unknown> {
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
	if (config.allowAnonymous) return "  Open to everyone who reaches this address (ALLOW_ANONYMOUS).\n";
	if (config.adminToken !== undefined) return "";
	return `
  No ADMIN_TOKEN is set. Existing tokens work, but you cannot make new ones.
  To make tokens, stop the gateway, set this, and start it again (docs/accounts.md):
    export ADMIN_TOKEN="$(openssl rand -base64 32)"
`;
}
