/**
 * Runs a gateway in plain `workerd` until it is stopped, in one process or several, with its accounts on this machine's disk.
 *
 * SIGHUP, or a change of a configuration file, reloads the settings. Running requests keep the old ones.
 *
 * SIGTERM and SIGINT refuse new requests, and wait until running requests are complete and their bills are written. A second
 * signal stops immediately. The exit code is 0 only if no request was interrupted.
 */
import { checkAddress } from "../scripts/address.ts";
import { diskOf } from "../scripts/disk.ts";
import { fileFailure } from "../scripts/file-failure.ts";
import { describeFileLimit, fileLimitRefusal, reachFileLimit } from "../scripts/file-limit.ts";
import { reloadOnChange } from "../scripts/reload.ts";
import { orStop } from "../scripts/settings.ts";
import { lockState } from "../scripts/state-lock.ts";
import { stopWith } from "../scripts/stop-with.ts";
import { type Config, describeRouting } from "../src/config/index.ts";
import { watchClock } from "./clock-watch.ts";
import { watchDisk } from "./disk-watch.ts";
import type { Log } from "./log.ts";
import { olderAccounts } from "./older-accounts.ts";
import { type SettingsInUse, settingsOf } from "./settings-in-use.ts";
import { stopSignals, untilEnd } from "./stop.ts";
import { type GatewayVariables, guardConnectionsOf, startWorkers } from "./workers.ts";

export interface GatewayOptions {
	host: string;
	port: number;
	/** Folder of the accounts. */
	state: string;
	/** Number of processes that serve requests. */
	workers: number;
	/** `--separate-large`. */
	separateLarge: boolean;
	/** Its folder is watched. The file need not exist. */
	configFile: string;
	/** Called at the start and at each reload. Throws a `ConfigError`. */
	readVariables(): GatewayVariables;
	/** The message at the start. `fileLimit`: lines about open files. */
	started(running: SettingsInUse & { url: string; fileLimit: string }): string;
	/** Receives a function that reloads the settings because other things than files have changed. It prints nothing. */
	whenChanged?(reload: () => void): void;
	/** The message after a reload. */
	reloaded(current: SettingsInUse): string;
	log: Log;
}

/** The state has credentials and callers' data, so other users of the machine cannot read the files that this process and its children create. */
const OWNER_ONLY = 0o077;

/** Returns the exit code. Stops the process if the gateway cannot start. */
export async function runGateway(options: GatewayOptions): Promise<number> {
	const { log, host, port } = options;
	process.umask(OWNER_ONLY);
	// 0 on file systems without a size.
	const disk = diskOf(options.state);
	const machine = disk.total > 0 ? { DISK_BYTES: String(disk.total) } : {};
	const readVariables = (): GatewayVariables => {
		const { vars, secrets } = options.readVariables();
		return { vars: { ...machine, ...vars }, secrets };
	};
	const initial = orStop(readVariables);
	const variables = { ...initial.vars, ...initial.secrets };
	let current = orStop(() => settingsOf(variables, process.env));
	let latest = initial;
	const state = await lockState(options.state).catch((error: unknown) =>
		stopWith(`cannot keep state in ${options.state}: ${fileFailure(error)}`),
	);
	await checkAddress(host, port);
	const openFiles = reachFileLimit(current.config.openFiles);
	const tooFewFiles = fileLimitRefusal(openFiles);
	if (tooFewFiles !== undefined) stopWith(tooFewFiles);
	if (openFiles === undefined && options.workers > 1)
		stopWith("--workers: only one process can serve requests on this system");
	if (options.separateLarge && options.workers === 1)
		stopWith("--separate-large: expected two workers or more (--workers 2)");
	const count = options.workers;
	const connections = guardConnectionsOf(openFiles, { count, separateLarge: options.separateLarge });
	const older = olderAccounts(options.state, state.objects);
	if (older.isNew)
		log.info(
			`Accounts in a state of a version without a list of them: ${older.ids.length}. Each is added to the list at its first request.`,
			{ message: "older state", accounts: older.ids.length },
		);
	const stopping = stopSignals();
	const idleMs = (): number => current.config.limits.holdMs;
	const operatorHash = (): string | undefined => current.operatorHash;
	const { url, workers, restart, guards } = await startWorkers({
		...{ host, port, log, state, openFiles, idleMs, operatorHash },
		count,
		separateLarge: options.separateLarge,
		variables: () => latest,
		olderAccounts: older.ids,
		adapterFolders: () => adapterFolders(current.config),
	});
	watchDisk({
		...{ folder: options.state, disk, log },
		sockets: workers.map(({ connectionsSocket }) => connectionsSocket),
		reserveBytes: () => current.config.limits.diskReserveBytes,
	});
	watchClock({ log });
	const fileLimit = describeFileLimit(openFiles, connections * count);
	const routing = () => ({ routes: describeRouting(current.config) });
	log.info(options.started({ ...current, url, fileLimit }), { message: "ready", url, ...routing() });
	reloadOnChange({
		file: options.configFile,
		processes: () => workers.map(({ reloadSocket, served }) => ({ reloadSocket, ended: served.ended })),
		started: variables,
		read() {
			const read = readVariables();
			const next = { ...read.vars, ...read.secrets };
			current = settingsOf(next, process.env);
			latest = read;
			return next;
		},
		...(options.whenChanged && { whenChanged: options.whenChanged }),
		applied(milliseconds, isReported) {
			guards?.update();
			if (isReported) return;
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
	const isComplete = await untilEnd({
		...{ workers, restart, stopping, log },
		...(guards && { guardFailed: guards.failed }),
	});
	state.unlock();
	return isComplete ? 0 : 1;
}

/** Of the backends that routes name. */
function adapterFolders({ routing }: Config): Map<string, string> {
	const { defaultBackend, routes } = routing;
	const backends = routes.flatMap(({ targets }) => targets.map(({ backend }) => backend));
	return new Map(
		[...backends, ...(defaultBackend ? [defaultBackend] : [])].flatMap(({ backend, adapters }) =>
			adapters?.folder === undefined ? [] : [[backend, adapters.folder]],
		),
	);
}
