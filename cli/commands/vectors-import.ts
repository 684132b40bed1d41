/** `ganglion vectors import`: a file of lines of JSON into an index, which is created if it does not exist. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";
import * as z from "zod";
import { cannotBeRead } from "../../scripts/file-failure.ts";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { progressBar, showLine } from "../progress-line.ts";
import { printJson } from "../table.ts";
import { indexPath } from "./vectors-export.ts";

export interface ImportVectorsFlags extends ConnectionFlags {
	/** Of a new index. */
	metric: string;
	/** `property=type`. */
	metadataIndex?: readonly string[];
}

const MAX_LINES = 1_000;
const MAX_CHARACTERS = 8_000_000;

const Indexes = z.array(z.looseObject({ name: z.string() }));
const MetadataIndexes = z.looseObject({
	metadataIndexes: z.array(z.looseObject({ propertyName: z.string() })),
});

/** Vectors that exist are replaced, so a run that was interrupted can be repeated. */
export async function importVectors(index: string, file: string, flags: ImportVectorsFlags): Promise<number> {
	const properties = (flags.metadataIndex ?? []).map(readProperty);
	const { size } = await stat(file).catch((error: unknown) => {
		throw new CommandError(cannotBeRead(file, error));
	});
	const client = new GatewayClient(flags);
	let vectors = 0;
	let shown = "";
	for await (const group of groupsOf(file)) {
		if (vectors === 0) await prepare(client, index, { flags, properties, line: group.lines[0] ?? "" });
		const form = new FormData();
		form.set("vectors", new Blob([group.lines.join("\n")]), "vectors.ndjson");
		await client.send(`${indexPath(index)}/upsert`, { method: "POST", form }).catch((error: unknown) => {
			if (!(error instanceof CommandError)) throw error;
			const { first, last } = group;
			throw new CommandError(
				`${error.message}\nin the lines ${first} to ${last} of ${file}. The ${vectors} vectors before them are in ${index}.`,
			);
		});
		vectors += group.lines.length;
		shown = showLine(`${progressBar(group.read, size)} ${vectors} vectors`, shown, group.isLast);
	}
	if (flags.json) printJson({ index, vectors });
	else console.log(`${index}: ${vectors} vectors written`);
	return 0;
}

interface Group {
	lines: string[];
	/** Numbers in the file, from 1. */
	first: number;
	last: number;
	/** Bytes of the file that are read. */
	read: number;
	isLast: boolean;
}

async function* groupsOf(file: string): AsyncGenerator<Group> {
	const empty = (first: number): Group => ({ lines: [], first, last: first - 1, read: 0, isLast: false });
	let group = empty(1);
	let characters = 0;
	const input = createReadStream(file);
	for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
		if (group.lines.length >= MAX_LINES || (characters > 0 && characters + line.length > MAX_CHARACTERS)) {
			yield { ...group, read: input.bytesRead };
			group = empty(group.last + 1);
			characters = 0;
		}
		group.last++;
		characters += line.length;
		if (line.trim() !== "") group.lines.push(line);
	}
	if (group.lines.length > 0) yield { ...group, read: input.bytesRead, isLast: true };
}

interface Property {
	propertyName: string;
	indexType: string;
}

function readProperty(text: string): Property {
	const at = text.lastIndexOf("=");
	if (at < 1) throw new CommandError(`--metadata-index: expected one such as folder=string, found "${text}"`);
	return { propertyName: text.slice(0, at), indexType: text.slice(at + 1) };
}

interface Preparation {
	flags: ImportVectorsFlags;
	properties: readonly Property[];
	/** The first of the file. */
	line: string;
}

/** Metadata indexes apply to vectors that are written after them. */
async function prepare(
	client: GatewayClient,
	index: string,
	{ flags, properties, line }: Preparation,
): Promise<void> {
	const path = indexPath(index);
	const all = await client.result("/vectorize/v2/indexes", Indexes);
	if (!all.some(({ name }) => name === index)) {
		const config = { dimensions: dimensionsOf(line), metric: flags.metric };
		await client.send("/vectorize/v2/indexes", { method: "POST", body: { name: index, config } });
	}
	if (properties.length === 0) return;
	const { metadataIndexes } = await client.result(`${path}/metadata_index/list`, MetadataIndexes);
	const present = new Set(metadataIndexes.map(({ propertyName }) => propertyName));
	for (const body of properties.filter(({ propertyName }) => !present.has(propertyName)))
		await client.send(`${path}/metadata_index/create`, { method: "POST", body });
}

function dimensionsOf(line: string): number {
	try {
		return z.looseObject({ values: z.array(z.number()).min(1) }).parse(JSON.parse(line)).values.length;
	} catch {
		throw new CommandError(
			'the first line is no vector: expected one such as {"id": "a", "values": [1, 0.5]}',
		);
	}
}
