/**
 * Writes the adapters of accounts into folders that engines read (`adapters.folder` of backends), because a Worker cannot write files. The
 * gateway calls it at an address (`ADAPTERS_BINDING`), whose path is a secret:
 *
 * - `HEAD /{backend}/{adapter}`: 200 if all files are there, else 404
 * - `PUT /{backend}/{adapter}/{file}`: replaces a file, whole or not at all; 410 if the adapter was deleted
 * - `DELETE /{adapter}`: removes it from all folders. A write that runs leaves nothing
 */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { access, chmod, readdir, rename, rm, stat } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { BoundedSet } from "../../src/core/bounded-set.ts";
import { ADAPTER_FILES } from "../../src/jobs/adapters/records.ts";
import { createServer } from "../http.ts";
import { makeFolder } from "../make-folder.ts";

const LOOPBACK = "127.0.0.1";
const ADAPTER = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** The engine may run as another user. The gateway's own files are for its user only. */
const FILE_MODE = 0o644;
const FOLDER_MODE = 0o755;
/**
 * Remembered ids of deleted adapters. An id is never used again, and a write that began before its deletion ends long before this many
 * others are deleted.
 */
const MAX_DELETED = 10_000;

export interface FolderWriter {
	/** The value of `ADAPTERS_BINDING`. */
	address: string;
	stop(): void;
}

/** `folders`: by the name of the backend. They may change. */
export async function startFolderWriter(folders: () => ReadonlyMap<string, string>): Promise<FolderWriter> {
	for (const folder of folders().values()) void removeUnfinished(folder);
	const path = `/${randomUUID()}/`;
	const deleted = new BoundedSet<string>(MAX_DELETED);
	const server = createServer((request, response) => {
		const { url = "" } = request;
		const work = url.startsWith(path)
			? answer(request, url.slice(path.length).split("/"), { folders: folders(), deleted })
			: NOT_FOUND;
		work.then(
			(status) => response.writeHead(status).end(),
			() => response.writeHead(500).end(),
		);
	});
	await new Promise<void>((listening, failed) => {
		server.once("error", failed).listen(0, LOOPBACK, listening);
	});
	// The process that has the gateway may end.
	server.unref();
	const { port } = server.address() as AddressInfo;
	return {
		address: `http://${LOOPBACK}:${port}${path.slice(0, -1)}`,
		stop() {
			server.close();
			server.closeAllConnections();
		},
	};
}

const NOT_FOUND = Promise.resolve(404);

/** Returns the status. */
async function answer(
	request: IncomingMessage,
	parts: readonly string[],
	{ folders, deleted }: { folders: ReadonlyMap<string, string>; deleted: Set<string> },
): Promise<number> {
	const [first = "", adapter = "", file] = parts;
	if (request.method === "DELETE" && ADAPTER.test(first)) {
		deleted.add(first);
		const removals = [...folders.values()].map((folder) => remove(join(folder, first)));
		const failed = (await Promise.allSettled(removals)).find(({ status }) => status === "rejected");
		return failed ? 500 : 204;
	}
	const folder = folders.get(decodeURIComponent(first));
	if (folder === undefined || !ADAPTER.test(adapter)) return NOT_FOUND;
	if (request.method === "HEAD") return (await hasAll(join(folder, adapter))) ? 200 : 404;
	const name = ADAPTER_FILES.find((one) => one === file);
	if (request.method !== "PUT" || !name) return NOT_FOUND;
	if (deleted.has(adapter)) return 410;
	try {
		await write(request, join(folder, adapter), name);
	} catch (error) {
		if (!deleted.has(adapter)) throw error;
	}
	if (!deleted.has(adapter)) return 204;
	await remove(join(folder, adapter));
	return 410;
}

/** A file that is written meanwhile makes the folder not empty. */
const remove = (path: string): Promise<void> => rm(path, { recursive: true, force: true, maxRetries: 5 });

const hasAll = (folder: string): Promise<boolean> =>
	Promise.all(ADAPTER_FILES.map((name) => access(join(folder, name)))).then(
		() => true,
		() => false,
	);

/** Other gateways may write into the same folder. A write is a call of at most two minutes. */
const LEFT_AFTER_MS = 60 * 60_000;
const UNFINISHED = /^\.adapter_(?:config\.json|model\.safetensors)\.[\da-f-]{36}$/;

/** Removes files that a killed process has left. An entry that cannot be removed stays: another process may remove it, too. */
async function removeUnfinished(folder: string): Promise<void> {
	for (const adapter of await namesIn(folder, ADAPTER))
		for (const name of await namesIn(join(folder, adapter), UNFINISHED))
			await removeLeft(join(folder, adapter, name)).catch(() => {});
}

async function removeLeft(path: string): Promise<void> {
	if ((await stat(path)).mtimeMs < Date.now() - LEFT_AFTER_MS) await rm(path);
}

/** None, if it is no folder or cannot be read. */
const namesIn = (folder: string, pattern: RegExp): Promise<string[]> =>
	readdir(folder).then(
		(names) => names.filter((name) => pattern.test(name)),
		() => [],
	);

async function write(request: IncomingMessage, folder: string, name: string): Promise<void> {
	makeFolder(folder);
	await chmod(folder, FOLDER_MODE);
	const unfinished = join(folder, `.${name}.${randomUUID()}`);
	try {
		await pipeline(request, createWriteStream(unfinished));
		await chmod(unfinished, FILE_MODE);
		await rename(unfinished, join(folder, name));
	} catch (error) {
		await rm(unfinished, { force: true });
		throw error;
	}
}
