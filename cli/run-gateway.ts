/**
 * Runs a gateway in plain `workerd` until it is stopped, with its accounts on this machine's disk.
 *
 * SIGHUP, or a change of a configuration file, reloads the settings. Running requests keep the old ones.
 *
 * SIGTERM and SIGINT refuse new requests, and wait until running requests are complete and their bills are written. A second
 * signal stops immediately. The exit code is 0 only if no request was interrupted.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkAddress } from "../scripts/address.ts";
import { guardConnections } from "../scripts/connection-guard.ts";
import { describeFileLimit, reachFileLimit } from "../scripts/file-limit.ts";
import { reloadOnChange } from "../scripts/reload.ts";
import { orStop, runtimeSettings, stopWith } from "../scripts/settings.ts";
import { type LockedState, lockState } from "../scripts/state-lock.ts";
import { type Served, serve } from "../scripts/workerd.ts";
import { capacityOf } from "../src/config/capacity.ts";
import { configure, describeRouting } from "../src/config/index.ts";
import type { Log } from "./log.ts";
import { holdOpen, type StopSignals, signal, stopSignals } from "./stop.ts";
import { workerModules } from "./worker-modules.ts";

/** For running answers, after the first signal. */
const MAX_DRAIN_MS = 60_000;

export type GatewayConfig = ReturnType<typeof configure>;

export interface GatewayVariables {
	vars: Record<string, unknown>;
	/** Written to no file. */
	secrets: Record<string, string>;
}

/** The configuration in use, and the variables that it was parsed from. */
export interface Current {
	config: GatewayConfig;
	variables: Record<string, unknown>;
}

export interface GatewayOptions {
	host: string;
	port: number;
	/** Folder of the accounts. */
	state: string;
	/** Its folder is watched. The file need not exist. */
	configFile: string;
	/** Called at the start and at each reload. Throws a `ConfigError`. */
	readVariables(): GatewayVariables;
	/** The message at the start. `fileLimit`: lines about open files. */
	started(running: Current & { url: string; fileLimit: string }): string;
	/** The message after a reload. */
	reloaded(current: Current): string;
	log: Log;
}

/** Returns the exit code. Stops the process if the gateway cannot start. */
export async function runGateway(options: GatewayOptions): Promise<number> {
	const { log, host, port } = options;
	const initial = orStop(options.readVariables);
	const variables = { ...initial.vars, ...initial.secrets };
	const current: Current = { config: orStop(() => configure(variables)), variables };
	const state = await lockState(options.state).catch((error: Error) =>
		stopWith(`cannot keep state in ${options.state}: ${error.message}`),
	);
	await checkAddress(host, port);
	const openFiles = reachFileLimit(current.config.openFiles);
	const { connections } = capacityOf(openFiles);
	const stopping = stopSignals();
	const served = await start({ options, initial, state, openFiles, current, connections });
	const fileLimit = describeFileLimit(openFiles, connections);
	const { url } = served;
	const routing = () => ({ routes: describeRouting(current.config) });
	log.info(options.started({ ...current, url, fileLimit }), { message: "ready", url, ...routing() });
	reloadOnChange({
		file: options.configFile,
		socket: state.reloadSocket,
		started: variables,
		read() {
			const { vars, secrets } = options.readVariables();
			const next = { ...vars, ...secrets };
			current.config = configure(next);
			current.variables = next;
			return next;
		},
		applied(milliseconds) {
			const elapsed = Math.round(milliseconds);
			log.info(`\nReloaded in ${elapsed} ms\n\n${options.reloaded(current)}`, {
				message: "reloaded",
				milliseconds: elapsed,
				...routing(),
			});
		},
		refused(message) {
			log.error(`Not reloaded, the old configuration stays active. ${message}`);
		},
	});
	return untilEnd({ served, state, stopping, log });
}

interface Start {
	options: GatewayOptions;
	initial: GatewayVariables;
	state: LockedState;
	openFiles: number | undefined;
	current: Current;
	connections: number;
}

async function start({ options, initial, state, openFiles, current, connections }: Start): Promise<Served> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const guardedSocket = openFiles === undefined ? undefined : join(folder, "http.sock");
	const { OPEN_FILES: _, ...secrets } = initial.secrets;
	const spec = {
		name: "ganglion",
		modules: await workerModules(join(folder, "worker")),
		...runtimeSettings(),
		// The limit that was reached, instead of the one that was set.
		vars: { ...initial.vars, ...(openFiles !== undefined && { OPEN_FILES: String(openFiles) }) },
		secrets,
		...(openFiles !== undefined && { openFiles }),
		...(guardedSocket !== undefined && { unixSocket: guardedSocket }),
		state: state.objects,
		host: options.host,
		entrypointSockets: [
			{ entrypoint: "Drain", path: state.socket },
			{ entrypoint: "Reload", path: state.reloadSocket },
		],
		detached: true,
		onOutput: (stdout, stderr) => {
			options.log.follow(stdout, "info");
			options.log.follow(stderr, "error");
		},
	} satisfies Parameters<typeof serve>[0];
	const served = await serve(spec, options.port, folder).catch((error: Error) =>
		stopWith(`workerd cannot be started: ${error.message}`),
	);
	state.servedBy(served.pid);
	if (guardedSocket !== undefined)
		await guardConnections({
			host: options.host,
			port: options.port,
			target: guardedSocket,
			maxConnections: connections,
			idleMs: () => current.config.limits.holdMs,
		});
	// workerd must not outlive this process.
	process.on("exit", () => signal(served.pid, "SIGKILL"));
	return served;
}

interface Running {
	served: Served;
	state: LockedState;
	stopping: StopSignals;
	log: Log;
}

/** The first signal drains, for at most a minute. The second one stops immediately. Returns the exit code. */
async function untilEnd({ served, state, stopping, log }: Running): Promise<number> {
	const { ended, pid, stop } = served;
	const { drained, end } = holdOpen(state.socket);
	void stopping.first.then(async () => {
		log.info("Waiting for running answers, at most a minute. Press Ctrl-C again to stop immediately.");
		setTimeout(stop, MAX_DRAIN_MS).unref();
		end();
		if (await drained) signal(pid, "SIGTERM");
	});
	void stopping.again.then(stop);
	const exit = await ended;
	state.unlock();
	if (!stopping.isRequested) log.error(`workerd has stopped by itself (${exit}).`);
	else if (exit === 0 && (await drained)) return 0;
	else log.error("Running requests were interrupted. They are charged their reservations.");
	return 1;
}
