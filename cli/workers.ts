/**
 * Starts the processes of a gateway. With one worker: `workerd`, and the connection guard in this process.
 *
 * With several, each worker is a `workerd` and a process of its own for its connection guard. The guards listen at the same address through
 * Node's `cluster`, which distributes the connections in turn. The first worker has the Durable Objects, and the others call them at
 * its Unix socket. All workers admit requests and pass streams. A worker without objects that ends by itself is started again.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { startFolderWriter } from "../scripts/adapters/folder-writer.ts";
import { keepNewSpaceSmall } from "../scripts/collect-garbage.ts";
import { guardConnections } from "../scripts/connections/guard.ts";
import { startConverter } from "../scripts/documents/converter.ts";
import { replaceVariables } from "../scripts/reload.ts";
import { runtimeSettings, V8_FLAGS } from "../scripts/settings.ts";
import type { LockedState } from "../scripts/state-lock.ts";
import { stopWith } from "../scripts/stop-with.ts";
import { type Served, serve, type WorkerSpec } from "../scripts/workerd.ts";
import { bufferedBytesOf, capacityOf } from "../src/config/capacity.ts";
import {
	ADAPTERS_BINDING,
	DOCUMENTS_BINDING,
	OBJECTS_BINDING,
	OLDER_ACCOUNTS_BINDING,
	PEER_BINDING,
	WORKERS_BINDING,
} from "../src/config/worker-bindings.ts";
import { type Guards, startGuards } from "./guards.ts";
import type { Log } from "./log.ts";
import { converterModules, workerModules } from "./worker-modules.ts";

export interface GatewayVariables {
	vars: Record<string, unknown>;
	/** Written to no file. */
	secrets: Record<string, string>;
}

/** The folder and the Unix sockets of a worker. */
interface WorkerPaths {
	/** Its number, from 1. */
	number: number;
	folder: string;
	/** Its guard forwards connections to it, with `--separate-large` also another one. */
	httpSocket: string;
	/** The following are sockets of the entrypoints with these names. */
	drainSocket: string;
	connectionsSocket: string;
	objectsSocket: string;
	reloadSocket: string;
	reportsSocket: string;
}

export interface WorkerProcess extends WorkerPaths {
	/** Its current process. */
	served: Served;
}

export interface StartOptions {
	host: string;
	port: number;
	/** Number of workers. */
	count: number;
	/** Each guard may send requests to a second worker (`scripts/connections/worker-choice.ts`). */
	separateLarge: boolean;
	/** They may change. */
	variables(): GatewayVariables;
	/** Ids of the objects of accounts that a version without a directory has created. */
	olderAccounts: readonly string[];
	state: LockedState;
	/** The limit of each process. Absent: the system has none, and connections are not guarded. */
	openFiles: number | undefined;
	/** The longest time without a byte on a connection. It may change. */
	idleMs(): number;
	/** SHA-256 of the operator's token. It may change. */
	operatorHash(): string | undefined;
	/** The folders of engines with adapters, by the name of the backend. They may change. */
	adapterFolders(): ReadonlyMap<string, string>;
	log: Log;
}

export interface Started {
	url: string;
	workers: WorkerProcess[];
	/** Starts a worker again, and its guard. It has no objects. Rejects if it cannot be started. */
	restart(worker: WorkerProcess): Promise<void>;
	/** Absent: the connection guard is in this process, or there is none. */
	guards?: Guards;
}

export async function startWorkers(options: StartOptions): Promise<Started> {
	const { host, port, count, separateLarge, openFiles, idleMs, operatorHash, state } = options;
	const folder = mkdtempSync(join(tmpdir(), "ganglion-"));
	process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
	const modules = await workerModules(join(folder, "worker"));
	const converter = await startConverter(() => converterModules(join(folder, "documents")));
	process.on("exit", () => void converter.stop());
	const writer = await startFolderWriter(options.adapterFolders);
	process.on("exit", () => writer.stop());
	const allPaths = Array.from({ length: count }, (_, index) => pathsOf(index + 1, folder, state));
	const addresses = { documents: converter.address, adapters: writer.address };
	const start = (paths: WorkerPaths): Promise<Served> => {
		const spec = specOf(paths, { ...options, ...addresses, modules, allPaths });
		return serve({ ...spec, temporary: folder }, port, paths.folder);
	};
	const starts = await Promise.allSettled(
		allPaths.map(async (paths): Promise<WorkerProcess> => ({ ...paths, served: await start(paths) })),
	);
	const workers = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
	// workerd must not outlive this process.
	process.on("exit", () => {
		for (const { served } of workers) signal(served.pid, "SIGKILL");
	});
	for (const start of starts)
		if (start.status === "rejected") stopWith(`workerd cannot be started: ${start.reason.message}`);
	const record = (): void => state.servedBy(workers.map(({ served }) => served.pid));
	record();
	let guards: Guards | undefined;
	const restart = async (worker: WorkerProcess): Promise<void> => {
		guards?.stop(worker.number);
		// A socket of the process before would refuse the new one its address.
		for (const path of socketsOf(worker)) rmSync(path, { force: true });
		worker.served = await start(worker);
		record();
		try {
			// The settings may have changed meanwhile.
			const { vars, secrets } = options.variables();
			await replaceVariables(worker.reloadSocket, { ...vars, ...secrets });
			await guards?.start(worker.number);
		} catch (error) {
			await worker.served.stop();
			throw error;
		}
	};
	const guard = {
		...{ host, port, idleMs, operatorHash },
		maxConnections: guardConnectionsOf(openFiles, options),
		maxSocketBytes: bufferedBytesOf(memoryPerWorker(count)),
	};
	const targets = allPaths.map(({ connectionsSocket, httpSocket }) => ({
		target: httpSocket,
		countsSocket: connectionsSocket,
	}));
	const url = workers[0]?.served.url ?? "";
	const [target, second, ...others] = targets;
	if (target && second) {
		const { log } = options;
		guards = await startGuards({ ...guard, log, separateLarge, targets: [target, second, ...others] });
		return { url, workers, restart, guards };
	}
	keepNewSpaceSmall();
	if (openFiles !== undefined && target) await guardConnections({ ...guard, ...target });
	return { url, workers, restart };
}

/**
 * Connections of each guard. If any worker may serve those of all guards, each guard has its part of what one worker can open.
 */
export function guardConnectionsOf(
	openFiles: number | undefined,
	{ count, separateLarge }: Pick<StartOptions, "count" | "separateLarge">,
): number {
	const { connections } = capacityOf(openFiles);
	return separateLarge ? Math.floor(connections / count) : connections;
}

/** Bytes. The limit of a container is lower than the memory of its machine. */
const memoryPerWorker = (workers: number): number =>
	Math.floor(Math.min(totalmem(), process.constrainedMemory() || totalmem()) / workers);

/** The process may have exited. */
export function signal(pid: number, name: NodeJS.Signals): void {
	try {
		process.kill(pid, name);
	} catch {
		// It has exited.
	}
}

function pathsOf(number: number, parent: string, state: LockedState): WorkerPaths {
	const folder = join(parent, String(number));
	mkdirSync(folder);
	const socket = (name: string): string => join(folder, `${name}.sock`);
	return {
		number,
		folder,
		httpSocket: socket("http"),
		objectsSocket: socket("objects"),
		reportsSocket: socket("reports"),
		connectionsSocket: socket("connections"),
		drainSocket: number === 1 ? state.socket : socket("drain"),
		reloadSocket: number === 1 ? state.reloadSocket : socket("reload"),
	};
}

const socketsOf = (paths: WorkerPaths): string[] => [
	...[paths.httpSocket, paths.drainSocket, paths.connectionsSocket],
	...[paths.objectsSocket, paths.reloadSocket, paths.reportsSocket],
];

interface SpecOptions extends StartOptions {
	modules: WorkerSpec["modules"];
	allPaths: readonly WorkerPaths[];
	/** The address of the converter. */
	documents: string;
	/** The address of the writer of adapters. */
	adapters: string;
}

function specOf(paths: WorkerPaths, options: SpecOptions): WorkerSpec {
	const { host, log, openFiles, state } = options;
	const { vars, secrets: allSecrets } = options.variables();
	const { OPEN_FILES: _, ...secrets } = allSecrets;
	const { shared, sockets, services } = connectionsOf(paths, options.allPaths);
	return {
		name: "ganglion",
		modules: options.modules,
		...runtimeSettings(),
		vars: {
			...vars,
			// The limit that was reached, instead of the one that was set.
			...(openFiles !== undefined && { OPEN_FILES: String(openFiles) }),
			MEMORY_BYTES: String(memoryPerWorker(options.count)),
			...(options.olderAccounts.length > 0 && { [OLDER_ACCOUNTS_BINDING]: options.olderAccounts }),
			[DOCUMENTS_BINDING]: options.documents,
			[ADAPTERS_BINDING]: options.adapters,
			...shared,
		},
		secrets,
		...(openFiles !== undefined && { openFiles, unixSocket: paths.httpSocket }),
		state: state.objects,
		objectsInMemory: paths.number > 1,
		host,
		entrypointSockets: [
			{ entrypoint: "Drain", path: paths.drainSocket },
			{ entrypoint: "Reload", path: paths.reloadSocket },
			{ entrypoint: "Connections", path: paths.connectionsSocket },
			...sockets,
		],
		services,
		v8Flags: V8_FLAGS,
		detached: true,
		onOutput: (stdout, stderr) => {
			log.follow(stdout, "info");
			log.follow(stderr, "error");
		},
	};
}

interface Connections {
	shared: Record<string, unknown>;
	sockets: NonNullable<WorkerSpec["entrypointSockets"]>;
	services: NonNullable<WorkerSpec["services"]>;
}

/** The sockets and bindings that connect the processes of one gateway. None if there is one process. */
function connectionsOf(
	{ number, objectsSocket, reportsSocket }: WorkerPaths,
	allPaths: readonly WorkerPaths[],
): Connections {
	const [first, second] = allPaths;
	if (!first || !second) return { shared: {}, sockets: [], services: [] };
	const isFirst = number === first.number;
	return {
		shared: {
			[WORKERS_BINDING]: {
				number,
				count: allPaths.length,
				objects: runtimeSettings().objects?.map(({ name }) => name) ?? [],
			},
		},
		sockets: [
			{ entrypoint: "Reports", path: reportsSocket },
			...(isFirst ? [{ entrypoint: "Objects", path: objectsSocket, acceptsCalls: true }] : []),
		],
		services: [
			...allPaths
				.filter((paths) => paths.number !== number)
				.map((paths) => ({ name: `${PEER_BINDING}${paths.number}`, path: paths.reportsSocket })),
			...(isFirst ? [] : [{ name: OBJECTS_BINDING, path: first.objectsSocket, calls: true }]),
		],
	};
}
