/**
 * `ganglion search export`: the files of an AI Search instance into a folder. A file that is there with the checksum of its item is not
 * sent again, so a run that was interrupted can be repeated.
 */
import { createHash } from "node:crypto";
import { lstat, readFile } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import { cannotBeRead } from "../../scripts/file-failure.ts";
import { CommandError, GatewayClient } from "../gateway-client.ts";
import { writeComplete } from "../partial-file.ts";
import { progressBar, showLine } from "../progress-line.ts";
import { type InstanceFlags, itemsPath, listItems, type ShownItem } from "../search-items.ts";
import { printJson } from "../table.ts";

export interface ExportItemsFlags extends InstanceFlags {
	overwrite?: boolean;
}

/** Keys and metadata, a line each. `search sync` leaves hidden files out. */
const LIST = ".items.ndjson";

interface Exported {
	written: string[];
	unchanged: number;
	/** Of a bucket or a website: the gateway does not keep their files. */
	ofSource: number;
	/** The reason by key. */
	refused: Record<string, string>;
}

/** The exit code is 1 if a file was refused. */
export async function exportItems(folder: string, flags: ExportItemsFlags): Promise<number> {
	const client = new GatewayClient(flags);
	const items = (await listItems(client, flags, "")).sort((one, other) => (one.key < other.key ? -1 : 1));
	const exported: Exported = { written: [], unchanged: 0, ofSource: 0, refused: {} };
	let shown = "";
	for (const [index, item] of items.entries()) {
		if ((item.source_id ?? "builtin") !== "builtin") exported.ofSource++;
		else
			await exportItem(client, item, { folder, flags, exported }).catch((error: unknown) => {
				if (!(error instanceof CommandError)) throw error;
				exported.refused[item.key] = error.message;
			});
		const line = `${progressBar(index + 1, items.length)} ${index + 1} of ${items.length} items`;
		if (process.stderr.isTTY) shown = showLine(line, shown, index + 1 === items.length);
	}
	const lines = items.map(({ key, metadata, source_id }) => JSON.stringify({ key, source_id, metadata }));
	await writeComplete(join(folder, LIST), (handle) =>
		handle.writeFile(lines.map((line) => `${line}\n`).join("")),
	);
	report(exported, folder, flags);
	return Object.keys(exported.refused).length > 0 ? 1 : 0;
}

interface Export {
	folder: string;
	flags: ExportItemsFlags;
	exported: Exported;
}

async function exportItem(
	client: GatewayClient,
	{ checksum, id, key }: ShownItem,
	{ exported, flags, folder }: Export,
): Promise<void> {
	const file = await fileOf(folder, key);
	const present = await readFile(file).catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
		throw new CommandError(cannotBeRead(file, error));
	});
	if (present && createHash("sha256").update(present).digest("hex") === checksum) {
		exported.unchanged++;
		return;
	}
	if (present && !flags.overwrite) throw new CommandError(`${file} has another content: add --overwrite`);
	const { body } = await client.send(`${itemsPath(flags)}/${encodeURIComponent(id)}/download`);
	await writeComplete(file, async (handle) => {
		for await (const bytes of body ?? []) await handle.write(bytes);
	});
	exported.written.push(key);
}

/** Another user may have chosen the key, so it must lead to a file below the folder, also through links. */
async function fileOf(folder: string, key: string): Promise<string> {
	const root = resolve(folder);
	const file = resolve(root, key);
	if (!file.startsWith(root + sep) || key.includes("\0") || file === join(root, LIST))
		throw new CommandError("the key is no path below the folder");
	for (let parent = file; parent !== root; parent = dirname(parent)) {
		const isLink = await lstat(parent).then(
			(status) => status.isSymbolicLink(),
			() => false,
		);
		if (isLink) throw new CommandError(`${parent} is a link`);
	}
	return file;
}

function report(exported: Exported, folder: string, { instance, json }: ExportItemsFlags): void {
	if (json) {
		printJson(exported);
		return;
	}
	const { ofSource, refused, unchanged, written } = exported;
	for (const [key, reason] of Object.entries(refused)) console.error(`${key}: ${reason}`);
	console.log(
		`${folder}: of ${instance} ${written.length} written, ${unchanged} unchanged, ${ofSource} of a source, ${Object.keys(refused).length} refused`,
	);
}
