/**
 * `ganglion search sync`: the files of a folder become items of an AI Search instance. A file whose item has the same checksum is not sent
 * again. Items whose file is gone are deleted, if this command has sent them, with the same prefix.
 */
import { createHash } from "node:crypto";
import { existsSync, watch } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { codeOf, readFailure } from "../../scripts/file-failure.ts";
import { CommandError, GatewayClient } from "../gateway-client.ts";
import { progressBar, showLine } from "../progress-line.ts";
import { type InstanceFlags, instancesPath, itemsPath, listItems, type ShownItem } from "../search-items.ts";
import { printJson } from "../table.ts";

export interface SyncFlags extends InstanceFlags {
	/** Before the path of each file: `guides/`. */
	prefix?: string;
	watch?: boolean;
}

/** The metadata of the items that this command sends. */
const MARK = "synced_from";
const MARKED = "folder";

const PER_PAGE = 50;
const POLL_MS = 500;
/** An editor writes a file in several steps. */
const SETTLED_MS = 300;
/** `.git` and others. */
const isHidden = (name: string): boolean => name.startsWith(".") || name === "node_modules";

interface Synced {
	sent: string[];
	deleted: string[];
	unchanged: number;
	/** The reason by key. */
	refused: Record<string, string>;
}

/** The exit code is 1 if a file was refused, or could not be indexed. */
export async function syncFolder(folder: string, flags: SyncFlags): Promise<number> {
	if (!existsSync(folder) || !(await stat(folder)).isDirectory())
		throw new CommandError(`${folder} is no folder`);
	const sync = new FolderSync(folder, flags);
	// Before the first run, so that no change is missed.
	const changed = flags.watch ? changesOf(folder) : undefined;
	await sync.requireInstance();
	const code = await sync.run();
	if (!changed) return code;
	console.error(`Watching ${folder}. Press Ctrl+C to end.`);
	for (;;) {
		await changed();
		await sync.run().catch((error: unknown) => {
			if (!(error instanceof CommandError)) throw error;
			// The gateway may start again. The next change tries again.
			console.error(`error: ${error.message}`);
		});
	}
}

class FolderSync {
	readonly #client: GatewayClient;
	readonly #folder: string;
	readonly #flags: SyncFlags;
	readonly #prefix: string;

	constructor(folder: string, flags: SyncFlags) {
		this.#client = new GatewayClient(flags);
		this.#folder = folder;
		this.#flags = flags;
		const { prefix = "" } = flags;
		const trimmed = prefix.replace(/^\/+|\/+$/g, "");
		this.#prefix = trimmed === "" ? "" : `${trimmed}/`;
	}

	/** Creates the instance if it does not exist. */
	async requireInstance(): Promise<void> {
		const instances = instancesPath(this.#flags);
		const list = await this.#client.result(
			`${instances}?per_page=${PER_PAGE}&search=${encodeURIComponent(this.#flags.instance)}`,
			z.array(z.looseObject({ id: z.string() })),
		);
		if (list.some(({ id }) => id === this.#flags.instance)) return;
		const body = { id: this.#flags.instance };
		await this.#client.result(instances, z.unknown(), { method: "POST", body });
	}

	async run(): Promise<number> {
		const before = new Map((await this.#list()).map((item) => [item.key, item]));
		const paths = await filesIn(this.#folder);
		const keys = new Set(paths.map((path) => this.#prefix + path));
		const synced: Synced = { sent: [], deleted: [], unchanged: 0, refused: {} };
		let shown = "";
		for (const [index, path] of paths.entries()) {
			await this.#send(path, before, synced);
			const done = index + 1;
			const line = `${progressBar(done, paths.length)} ${done} of ${paths.length} files`;
			if (process.stderr.isTTY) shown = showLine(line, shown, done === paths.length);
		}
		for (const [key, item] of before) {
			if (keys.has(key) || item.metadata[MARK] !== MARKED) continue;
			await this.#client.send(`${itemsPath(this.#flags)}/${item.id}`, { method: "DELETE" });
			synced.deleted.push(key);
		}
		await this.#whenIndexed(synced);
		this.#report(synced);
		return Object.keys(synced.refused).length > 0 ? 1 : 0;
	}

	/** The items below the prefix. */
	#list(): Promise<ShownItem[]> {
		return listItems(this.#client, this.#flags, this.#prefix);
	}

	async #send(path: string, before: ReadonlyMap<string, ShownItem>, synced: Synced): Promise<void> {
		const key = this.#prefix + path;
		const bytes = await readFile(join(this.#folder, path)).catch((error: unknown) => {
			// It may have been deleted since it was listed.
			if (codeOf(error) !== "ENOENT") synced.refused[key] = readFailure(error);
		});
		if (!bytes) return;
		if (before.get(key)?.checksum === createHash("sha256").update(bytes).digest("hex")) {
			synced.unchanged++;
			return;
		}
		const form = new FormData();
		form.set("file", new File([bytes], key));
		form.set("metadata", JSON.stringify({ [MARK]: MARKED }));
		try {
			await this.#client.send(itemsPath(this.#flags), { method: "POST", form });
			synced.sent.push(key);
		} catch (error) {
			if (!(error instanceof CommandError) || !/\(HTTP 4(?!01|03|29)\d\d\)/.test(error.message)) throw error;
			synced.refused[key] = error.message;
		}
	}

	/** Waits until the items are indexed, and adds those that failed to `refused`. */
	async #whenIndexed({ refused, sent }: Synced): Promise<void> {
		const own = new Set(sent);
		for (let shown = ""; own.size > 0; ) {
			const items = (await this.#list()).filter(({ key }) => own.has(key));
			const open = items.filter(({ status }) => status === "queued" || status === "running").length;
			const done = items.length - open;
			shown = showLine(
				`${progressBar(done, items.length)} ${done} of ${items.length} indexed`,
				shown,
				open === 0,
			);
			if (open === 0) {
				for (const { error, key } of items) if (error !== undefined) refused[key] = error;
				return;
			}
			await wait(POLL_MS);
		}
	}

	#report(synced: Synced): void {
		if (this.#flags.json) {
			printJson(synced);
			return;
		}
		const { deleted, refused, sent, unchanged } = synced;
		for (const [key, reason] of Object.entries(refused)) console.error(`${key}: ${reason}`);
		console.log(
			`${this.#flags.instance}: ${sent.length} sent, ${unchanged} unchanged, ${deleted.length} deleted, ${Object.keys(refused).length} refused`,
		);
	}
}

/** Paths below the folder, with slashes. */
async function filesIn(folder: string): Promise<string[]> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	return entries
		.filter((entry) => entry.isFile())
		.map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep))
		.filter((parts) => !parts.some(isHidden))
		.map((parts) => parts.join("/"))
		.sort();
}

/** Returns a function that waits for the next group of changes, also of those since its last call. */
function changesOf(folder: string): () => Promise<void> {
	let wake = (): void => {};
	let isChanged = false;
	watch(folder, { recursive: true }, () => {
		isChanged = true;
		wake();
	});
	return async () => {
		if (!isChanged)
			await new Promise<void>((done) => {
				wake = done;
			});
		await wait(SETTLED_MS);
		isChanged = false;
	};
}
