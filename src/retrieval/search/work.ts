/**
 * The handler of the durable queue: converts, divides and embeds an item, and stores its chunks and vectors.
 *
 * The vectors are planned in the instance's object before they are written, and become visible with the chunks, in one commit of that
 * object. A process that is killed leaves the item in the queue; its next run embeds the item again, and replaces the same vectors.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import type { Caller } from "../../pipeline/request.ts";
import { PostponedWork, type WorkHandler, type WorkRun } from "../../storage/queue/work.ts";
import { chunksOf } from "./chunking.ts";
import type { OpenInstance } from "./client/search-instances.ts";
import { ItemFailure, markdownOf, maxBytesOf } from "./markdown.ts";
import { embeddings, type SearchModels } from "./models.ts";
import { filesOf, type ItemRun, type SearchItem, type TextChunk } from "./records.ts";
import type { SearchRoomServices } from "./services.ts";
import { bytesOfObject } from "./sources/source-run.ts";
import { endReading, syncSource } from "./sources/sync.ts";
import { deletePlanned, deleteVectors, requireVectors, upsertOf, vectorBatch } from "./vectors.ts";
import type { SearchWork } from "./work-items.ts";

/** Text, keywords and rows on the disk, for each byte of text. */
const STORED_PER_BYTE = 3;
const PAUSED_MS = 60_000;
const LIMITED_MS = 30_000;
const MAX_ATTEMPTS = 5;

interface WorkServices {
	services: SearchRoomServices;
	/** The models of an instance, for the one who has uploaded an item. */
	models(call: { caller: Caller; gateway: string | undefined; signal: AbortSignal }): SearchModels;
}

export const searchHandler = (room: WorkServices): WorkHandler => ({
	maxAttempts: MAX_ATTEMPTS,
	async run(run) {
		const work = run.payload as SearchWork;
		if (work.task === "drop") return dropInstance(run.account, work, room.services);
		const { searchInstances } = room.services;
		const record = await searchInstances.find(run.account, work.namespace, work.instance);
		// The instance was deleted since then.
		if (record?.object !== work.object) return;
		const instance = searchInstances.opened(run.account, record);
		if (work.task === "sync") return syncSource(run, work.job, instance, room.services);
		// Other vectors that are stale are deleted by work of their own.
		if (work.task === "clean" || (await ingest(run, work, instance, room)))
			await clean(instance, room.services);
	},
	async failed({ account, payload }, error) {
		const work = payload as SearchWork;
		if (work.task !== "ingest" && work.task !== "sync") return;
		const { searchInstances } = room.services;
		const record = await searchInstances.find(account, work.namespace, work.instance);
		if (record?.object !== work.object) return;
		const instance = searchInstances.opened(account, record);
		if (work.task === "sync") return endReading({ job: work.job, instance, services: room.services }, error);
		await failItem(instance, work, new ItemFailure("unknown_error", error), room.services);
	},
});

type IngestWork = Extract<SearchWork, { task: "ingest" }>;

/** Returns whether the item has vectors of earlier revisions. */
async function ingest(
	run: WorkRun,
	work: IngestWork,
	instance: OpenInstance,
	room: WorkServices,
): Promise<boolean> {
	const { now } = room.services;
	const startedAt = now();
	if (instance.record.config.paused) throw new PostponedWork(PAUSED_MS);
	const begun = await instance.call((object) => object.begin(work.item, work.revision, startedAt));
	if (!begun) return false;
	try {
		const chunks = await indexed(run, begun, instance, room);
		if (!chunks) return false;
		const log = {
			timestamp: now(),
			action: "indexed",
			message: `The item is indexed. Chunks: ${chunks.length}`,
			chunkCount: chunks.length,
			processingTimeMs: now() - startedAt,
		};
		const completed = await instance.call((object) =>
			object.complete({ id: work.item, revision: work.revision }, { chunks, log, now: now() }),
		);
		if (!completed) return false;
		await room.services.searchInstances.report(run.account, work.object, completed.size);
		return completed.hasStale;
	} catch (thrown) {
		// A gateway that is killed may lose its converter first.
		if (thrown instanceof ItemFailure && thrown.isInterruption && run.attempt === 1) throw thrown;
		if (thrown instanceof ItemFailure) {
			await failItem(instance, work, thrown, room.services);
			return false;
		}
		const error = toAiError(thrown);
		if (error.status === 429 || error.status === 402) {
			const key = { id: work.item, revision: work.revision };
			const log = { timestamp: now(), action: "waiting", message: error.description };
			await instance.call((object) => object.postpone(key, log));
			throw new PostponedWork((error.retryAfter ?? 0) * 1_000 || LIMITED_MS);
		}
		if (error.status >= 500 || error.status === 408) throw thrown;
		// Another attempt has the same end.
		await failItem(instance, work, new ItemFailure("unknown_error", error.description), room.services);
		return false;
	}
}

/** Writes the vectors. `undefined`: another revision has replaced this one. */
async function indexed(
	run: WorkRun,
	{ caller: stored, item }: ItemRun,
	instance: OpenInstance,
	{ models: modelsOf, services }: WorkServices,
): Promise<TextChunk[] | undefined> {
	const { account, record } = instance;
	const { config, indexVersion } = record;
	const caller = await identifyCaller(stored, services.ledgers);
	const models = modelsOf({ caller, gateway: config.ai_gateway_id, signal: run.signal });
	const chunks = await chunksOfItem(item, instance, models, services);
	const bytes = chunks.reduce((sum, { end, start }) => sum + end - start, 0) * STORED_PER_BYTE;
	if (!(await services.searchInstances.reserve(account, record.object, bytes)))
		throw new ItemFailure(
			"chunk_too_large_for_storage",
			"The account's AI Search is full (AI_SEARCH.max_bytes)",
		);
	if (!config.index_method.vector) return chunks;
	const plan = { item: item.id, revision: item.revision, indexVersion, chunks: chunks.length };
	if (!(await instance.call((object) => object.plan(plan)))) return undefined;
	let first = 0;
	const texts = chunks.map(({ text }) => text);
	for await (const vectors of embeddings(config.embedding_model, texts, models)) {
		if (run.signal.aborted) throw new AiError("aborted");
		const store = await requireVectors(account, record, vectors[0]?.length ?? 0, services);
		await store.write(upsertOf(vectorBatch(plan, { first, vectors, indexed: item.indexed })));
		first += vectors.length;
		// The end of the item says the rest.
		if (first < texts.length) run.progress({ chunks: texts.length, embedded: first });
	}
	return chunks;
}

async function chunksOfItem(
	item: SearchItem,
	instance: OpenInstance,
	models: SearchModels,
	services: SearchRoomServices,
): Promise<TextChunk[]> {
	const { chunk, chunk_overlap: overlapPercent, chunk_size: tokens } = instance.record.config;
	const file = { name: item.fileName ?? item.key, mimeType: item.contentType };
	const bytes = new Uint8Array(await bytesOf(item, instance, services));
	// Links of a page are relative to its address.
	const base = URL.canParse(item.key) ? item.key : undefined;
	const text = await markdownOf({ ...file, bytes }, { account: instance.account, base }, models, services);
	const size = chunk ? { tokens, overlapPercent } : { tokens: Number.POSITIVE_INFINITY, overlapPercent: 0 };
	const chunks = chunksOf(text, size);
	if (!chunks) throw new ItemFailure("markdown_too_large", "The file has too many chunks");
	if (chunks.length === 0) throw new ItemFailure("file_content_empty", "The file has no text");
	return chunks;
}

async function bytesOf(
	item: SearchItem,
	instance: OpenInstance,
	services: SearchRoomServices,
): Promise<ArrayBuffer> {
	const { content, contentType: mimeType, key } = item;
	if (content === "") {
		const maxBytes = maxBytesOf({ name: key, mimeType });
		return bytesOfObject({ key, maxBytes }, { instance, services });
	}
	const { account, record } = instance;
	const blob = await services.storage.blobs(account).get(filesOf(record.object) + content);
	if (!blob) throw new ItemFailure("file_not_found", "The file was deleted");
	return new Response(blob.body).arrayBuffer();
}

/** Ends the run. What was reserved for it is free again. */
async function failItem(
	instance: OpenInstance,
	{ item: id, revision }: Pick<IngestWork, "item" | "revision">,
	{ errorType, message }: ItemFailure,
	{ now, searchInstances }: SearchRoomServices,
): Promise<void> {
	const log = { timestamp: now(), action: "error", message, errorType };
	const size = await instance.call(async (object) => {
		await object.fail({ id, revision }, { error: errorType, log, now: now() });
		return object.size();
	});
	await searchInstances.report(instance.account, instance.record.object, size);
}

async function clean(instance: OpenInstance, services: SearchRoomServices): Promise<void> {
	for (;;) {
		const plans = await instance.call((object) => object.stale());
		if (plans.length === 0) return;
		for (const plan of plans) {
			await deletePlanned(instance.account, instance.record, plan, services);
			await instance.call((object) => object.cleaned(plan));
		}
	}
}

/** What belongs to a deleted instance: its vectors, its files and its object. */
async function dropInstance(
	account: string,
	{ indexVersion, object }: Extract<SearchWork, { task: "drop" }>,
	services: SearchRoomServices,
): Promise<void> {
	for (let version = indexVersion; version > 0; version--)
		await deleteVectors(account, { object }, version, services);
	await services.storage.blobs(account).deletePrefix(filesOf(object));
	await services.searchInstances.drop(account, object);
}
