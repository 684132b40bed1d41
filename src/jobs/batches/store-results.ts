/** Stores the results of a batch as files of its account. A run that is repeated stores the same files again. */
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { RunKey } from "../durable/batch-runs.ts";
import { type FileRecord, fileKey } from "../records.ts";
import type { JobsServices } from "../services.ts";
import type { BatchRecord } from "./records.ts";
import { RESULT_FORMATS } from "./result-lines.ts";

/** Unless the batch sets another. As in OpenAI's API. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

interface ResultContext {
	account: string;
	key: RunKey;
	services: JobsServices;
}

/** Stores the results of a replay where they live: beside its logs. `lines`: one at a time. */
export type StoreReplay = (
	account: string,
	record: BatchRecord,
	lines: AsyncGenerator<string>,
) => Promise<void>;

/** Returns the files that have lines. */
export async function storeResults(record: BatchRecord, context: ResultContext): Promise<FileRecord[]> {
	const { account, services } = context;
	const stored: FileRecord[] = [];
	for (const [id, isError] of [
		[record.outputFile, false],
		[record.errorFile, true],
	] as const) {
		if (id === undefined) continue;
		const blobs = services.storage.blobs(account);
		const { bytes } = await blobs.put(fileKey(id), textStream(resultLines(record, isError, context)));
		if (bytes === 0) {
			await blobs.delete(fileKey(id));
			continue;
		}
		const createdAt = Date.now();
		stored.push({
			...{ id, owner: record.owner, purpose: "batch_output", bytes, createdAt },
			filename: `${record.id}_${isError ? "error" : "output"}.jsonl`,
			contentType: "application/jsonl",
			expiresAt: createdAt + (record.outputExpiryMs ?? KEPT_MS),
		});
	}
	return stored;
}

/** The results, a line at a time. */
export async function* singleLines(record: BatchRecord, context: ResultContext): AsyncGenerator<string> {
	let rest = "";
	for await (const text of resultLines(record, false, context)) {
		const lines = (rest + text).split("\n");
		rest = lines.pop() ?? "";
		yield* lines;
	}
}

async function* resultLines(
	record: BatchRecord,
	isError: boolean,
	{ account, key, services }: ResultContext,
): AsyncGenerator<string> {
	const { jobPace, jobs, wait } = services;
	let from: { line: number; piece: number } | undefined = { line: 0, piece: 0 };
	while (from) {
		const start: { line: number; piece: number } = from;
		await jobPace.giveWay(wait);
		const part = await jobs.runs(account, (runs) => runs.results(key, isError, start));
		if (part && part.text !== "") yield part.text;
		from = part?.next;
	}
	for (let after = 0; record.unfinished > 0; ) {
		await jobPace.giveWay(wait);
		const part = await jobs.runs(account, (runs) => runs.unfinished(key, after));
		const last = part?.lines.at(-1);
		if (!part || !last) return;
		const format = RESULT_FORMATS[record.api];
		const lines = part.lines
			.map(({ customId }) => format.unfinished(customId, part.reason))
			.filter((line) => line.isError === isError);
		if (lines.length > 0) yield lines.map(({ text }) => text).join("");
		after = last.line;
	}
}

function textStream(texts: AsyncGenerator<string>): ReadableStream<Uint8Array> {
	const encoder = new TextEncoder();
	return new PulledStream<Uint8Array>({
		async pull() {
			const { value, done } = await texts.next();
			return done ? undefined : encoder.encode(value);
		},
		cancel: async () => void (await texts.return(undefined)),
	});
}
