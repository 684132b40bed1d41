/** `ganglion batch`: runs a file of requests as an OpenAI batch, and watches one. */
import { createWriteStream, existsSync, openAsBlob } from "node:fs";
import { open } from "node:fs/promises";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { cannotBeRead } from "../../scripts/file-failure.ts";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { batchLine, ENDED, showLine } from "../progress-line.ts";
import { printJson } from "../table.ts";

export interface BatchFlags extends ConnectionFlags {
	/** The file for the answers. */
	output?: string;
	/** The file for the lines without an answer. */
	errors?: string;
}

const POLL_MS = 1_000;
const MAX_SHOWN_MISTAKES = 10;

const FileId = z.looseObject({ id: z.string() });
const Mistake = z.looseObject({ message: z.string(), line: z.number().nullable() });
const Batch = z.looseObject({
	id: z.string(),
	status: z.string(),
	output_file_id: z.string().nullable(),
	error_file_id: z.string().nullable(),
	errors: z.object({ data: z.array(Mistake) }).nullable(),
	request_counts: z.object({ total: z.number(), completed: z.number(), failed: z.number() }),
	waiting: z.object({ message: z.string() }).optional(),
});
type WatchedBatch = z.output<typeof Batch>;

/** Uploads the file, creates its batch, and watches it. */
export async function runBatch(file: string, flags: BatchFlags): Promise<number> {
	const files = resultFiles(file, flags);
	const endpoint = await endpointOf(file);
	const client = new GatewayClient(flags);
	const form = new FormData();
	form.set("purpose", "batch");
	form.set("file", await openAsBlob(file), basename(file));
	const uploaded = FileId.parse(await (await client.send("/ai/v1/files", { method: "POST", form })).json());
	const body = { input_file_id: uploaded.id, endpoint, completion_window: "24h" };
	const created = await client.send("/ai/v1/batches", { method: "POST", body });
	const { id } = Batch.parse(await created.json());
	console.error(`Batch ${id}. It also runs without this command: npx ganglion batch watch ${id}`);
	return finish(client, id, { files, flags });
}

/** Watches a batch to its end, and stores its results. */
export const watchBatch = (id: string, flags: BatchFlags): Promise<number> =>
	finish(new GatewayClient(flags), id, { files: resultFiles(`${id}.jsonl`, flags), flags });

interface ResultFiles {
	output: string;
	errors: string;
}

function resultFiles(file: string, { output, errors }: BatchFlags): ResultFiles {
	const start = file.replace(/\.jsonl$/i, "");
	const files = { output: output ?? `${start}.output.jsonl`, errors: errors ?? `${start}.errors.jsonl` };
	for (const name of Object.values(files))
		if (existsSync(name))
			throw new CommandError(`${name} exists: name other files with --output and --errors`);
	return files;
}

/** The `url` of the first line. */
async function endpointOf(file: string): Promise<string> {
	const opened = await open(file).catch((error: unknown) => {
		throw new CommandError(cannotBeRead(file, error));
	});
	try {
		for await (const line of opened.readLines()) {
			const { data } = z.looseObject({ url: z.string() }).safeParse(parsed(line));
			if (data) return data.url;
			break;
		}
	} finally {
		await opened.close();
	}
	throw new CommandError(
		`${file}: expected a line such as {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {…}}`,
	);
}

function parsed(line: string): unknown {
	try {
		return JSON.parse(line.replace(/^\uFEFF/, ""));
	} catch {
		return undefined;
	}
}

async function finish(
	client: GatewayClient,
	id: string,
	{ files, flags }: { files: ResultFiles; flags: BatchFlags },
): Promise<number> {
	const batch = await watch(client, id);
	const { output_file_id: output, error_file_id: errors } = batch;
	if (output) await download(client, output, files.output);
	if (errors) await download(client, errors, files.errors);
	for (const { line, message } of batch.errors?.data.slice(0, MAX_SHOWN_MISTAKES) ?? [])
		console.error(line === null ? message : `line ${line}: ${message}`);
	if (flags.json) printJson(batch);
	else {
		if (output) console.log(files.output);
		if (errors) console.log(files.errors);
	}
	return batch.status === "completed" && batch.request_counts.failed === 0 ? 0 : 1;
}

async function watch(client: GatewayClient, id: string): Promise<WatchedBatch> {
	let shown = "";
	for (;;) {
		const response = await client.send(`/ai/v1/batches/${encodeURIComponent(id)}`);
		const batch = Batch.parse(await response.json());
		const isEnded = ENDED.has(batch.status);
		shown = showLine(batchLine(batch), shown, isEnded);
		if (isEnded) return batch;
		await wait(POLL_MS);
	}
}

async function download(client: GatewayClient, id: string, file: string): Promise<void> {
	const { body } = await client.send(`/ai/v1/files/${id}/content`);
	if (body) await pipeline(body, createWriteStream(file, { flags: "wx" }));
}
