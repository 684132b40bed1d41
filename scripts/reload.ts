/** Reloads the variables of a running gateway without a restart: on SIGHUP, and when a configuration file changes. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { codeOf } from "./file-failure.ts";
import { request } from "./http.ts";

/** In a folder that Kubernetes mounts from a ConfigMap or a Secret, all files are links through this one, which is replaced. */
const KUBERNETES_LINK = "..data";

/** An editor writes a file in several steps. */
const SETTLE_MS = 100;

/** The connections of a process that is killed end a moment before its exit is seen. */
const EXIT_MS = 1_000;

interface ReloadedProcess {
	/** The socket of the entrypoint `Reload`. */
	reloadSocket: string;
	/** Resolves when it has exited. */
	ended: Promise<unknown>;
}

export interface Reloading {
	/** The configuration file. `.dev.vars` and `.env` in its folder are watched too. */
	file: string;
	/** All of the gateway. One that has ended is ignored: it gets the current variables when it is started again. */
	processes(): readonly ReloadedProcess[];
	/** The variables that the gateway was started with. */
	started: Record<string, unknown>;
	/** Reads the current variables. Throws a `ConfigError`. */
	read(): Record<string, unknown>;
	/** Receives a function that reloads when something else than a file has changed, which is reported elsewhere. */
	whenChanged?(reload: () => void): void;
	/** After each reload. `isReported`: what has changed is reported elsewhere. */
	applied(milliseconds: number, isReported: boolean): void;
	refused(message: string): void;
}

export function reloadOnChange({
	file,
	processes,
	started,
	read,
	whenChanged,
	applied,
	refused,
}: Reloading): FSWatcher {
	let current = JSON.stringify(started);
	let wasRefused = false;
	let running = Promise.resolve();
	const reload = async (force: boolean, isReported: boolean): Promise<void> => {
		const startedAt = performance.now();
		try {
			const variables = read();
			const next = JSON.stringify(variables);
			// After a refusal, a return to the old settings is reported too.
			if (next === current && !force && !wasRefused) return;
			await Promise.all(processes().map((process) => replaceUnlessEnded(process, variables)));
			current = next;
			wasRefused = false;
			applied(performance.now() - startedAt, isReported);
		} catch (error) {
			wasRefused = true;
			refused(error instanceof Error ? error.message : String(error));
		}
	};
	const enqueue = (force: boolean, isReported = false): void => {
		running = running.then(() => reload(force, isReported));
	};
	whenChanged?.(() => enqueue(true, true));
	process.on("SIGHUP", () => enqueue(true));
	let timer: NodeJS.Timeout | undefined;
	// The folder, not the file: an editor may replace the file.
	const watcher = watch(dirname(file), (_, name) => {
		if (
			name !== basename(file) &&
			name !== KUBERNETES_LINK &&
			!/^\.(?:dev\.vars|env)(?:\..+)?$/.test(name ?? "")
		)
			return;
		clearTimeout(timer);
		timer = setTimeout(() => enqueue(false), SETTLE_MS);
	});
	// A change between the start and the watch has no event.
	enqueue(false);
	watcher.on("error", () =>
		refused("the folder of the configuration cannot be watched any more: send SIGHUP"),
	);
	return watcher;
}

async function replaceUnlessEnded(
	{ reloadSocket, ended }: ReloadedProcess,
	variables: Record<string, unknown>,
): Promise<void> {
	try {
		await replaceVariables(reloadSocket, variables);
	} catch (error) {
		// A refusal of the variables has no code.
		const isLost = codeOf(error) !== "";
		const hasEnded = ended.then(() => true);
		if (!isLost || !(await Promise.race([hasEnded, wait(EXIT_MS, false)]))) throw error;
	}
}

/** Through the entrypoint `Reload` that listens at this socket. Rejects with the mistakes of the variables. */
export function replaceVariables(socketPath: string, variables: Record<string, unknown>): Promise<void> {
	const body = JSON.stringify(variables);
	return new Promise((resolve, reject) => {
		const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
		// A new connection: the gateway closes idle ones, and a reload must not use a connection that is closing.
		const sent = request({ socketPath, method: "POST", headers, agent: false }, (answer) => {
			text(answer).then((message) => {
				if (answer.statusCode === 204) resolve();
				else reject(new Error(message));
			}, reject);
		});
		sent.once("error", reject);
		sent.end(body);
	});
}
