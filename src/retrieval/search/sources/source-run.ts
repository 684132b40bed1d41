/** What the readers of sources share: one run of the durable work of a job. */
import { callsOfPart } from "../../../core/object-parts.ts";
import type { OpenInstance } from "../client/search-instances.ts";
import type { PlacedItem, SourceReading } from "../durable/source-reading.ts";
import { deleteFile, deleteUnstored } from "../item-files.ts";
import { ItemFailure } from "../markdown.ts";
import { indexedMetadata } from "../metadata.ts";
import { filesOf, type NewItem } from "../records.ts";
import type { SearchRoomServices } from "../services.ts";
import { ingestItem, workInstance } from "../work-items.ts";
import { type SourceConfig, sourceId } from "./source-config.ts";

export interface SourceRun {
	job: string;
	source: SourceConfig;
	owner: NewItem["caller"];
	instance: OpenInstance;
	services: SearchRoomServices;
	/** Fires when the work is cancelled, or its time is over. */
	signal: AbortSignal;
	progress(value: unknown): void;
}

/** The source cannot be read. `message`: the `end_reason` of the job. */
export class SourceFailure extends Error {
	override readonly name = "SourceFailure";
}

/** The job has ended, because it was cancelled, or another one has started. */
export class JobEnded extends Error {
	override readonly name = "JobEnded";
}

type Remote<Methods> = {
	[Name in keyof Methods]: Methods[Name] extends (...parameters: infer Parameters) => infer Result
		? (...parameters: Parameters) => Promise<Awaited<Result>>
		: never;
};
export type SourceCalls = Remote<Omit<SourceReading, "__RPC_TARGET_BRAND">>;

/** The calls of the object's part that reads sources. */
export const readingOf = ({ instance }: Pick<SourceRun, "instance">): SourceCalls =>
	new Proxy({} as SourceCalls, {
		get:
			(_, member: keyof SourceCalls) =>
			(...parameters: unknown[]) =>
				instance.call((object) => {
					const calls = callsOfPart(() => object.source() as unknown as SourceCalls);
					return Reflect.apply(calls[member] as (...sent: unknown[]) => Promise<unknown>, calls, parameters);
				}),
	});

export interface FoundItem {
	place: string;
	key: string;
	contentType: string;
	/** Of the object. 0 if the bytes are there. */
	size: number;
	/** Absent: they are read from the source when the item is indexed. */
	bytes?: Uint8Array;
	checksum: string;
	fileName: string;
	metadata: Record<string, unknown>;
	/** Why it is not indexed. */
	unsupported?: string;
}

/** Stores the items of places, and queues them. Throws `JobEnded`, and `SourceFailure` if the instance is full. */
export async function putItems(found: readonly FoundItem[], run: SourceRun): Promise<void> {
	if (found.length === 0) return;
	const { instance, job, services } = run;
	const { account, record } = instance;
	const blobs = services.storage.blobs(account);
	const now = services.now();
	const placed: PlacedItem[] = [];
	for (const one of found) {
		const { bytes, unsupported } = one;
		const content = bytes && unsupported === undefined ? crypto.randomUUID() : "";
		if (content !== "" && bytes) await blobs.put(filesOf(record.object) + content, bytes);
		placed.push(placedItem(one, { content, now }, run));
	}
	const stored = await readingOf(run)
		.put(job, placed, now)
		.catch(async (thrown) => {
			for (const { item } of placed) if (item.content !== "") await deleteUnstored(item, instance, services);
			throw thrown;
		});
	if (typeof stored === "string") {
		for (const { item } of placed) await deleteFile(item.content, instance, services);
		throw stored === "ended" ? new JobEnded() : new SourceFailure("max_items_reached");
	}
	for (const { replaced } of stored) await deleteFile(replaced, instance, services);
	const work = stored
		.filter((_, index) => found[index]?.unsupported === undefined)
		.map((item) => ingestItem(workInstance(instance), item));
	// If the process ends before that, or the queue is full, the instance's object enqueues them.
	if (work.length > 0) await services.storage.queue.enqueue(work).catch(() => 0);
}

function placedItem(
	{ bytes, checksum, contentType, fileName, key, metadata, place, size, unsupported }: FoundItem,
	{ content, now }: { content: string; now: number },
	{ instance, owner, source }: SourceRun,
): PlacedItem {
	const { custom_metadata: custom } = instance.record.config;
	return {
		...{ place, id: crypto.randomUUID() },
		...(unsupported !== undefined && { unsupported }),
		item: {
			...{ key, content, contentType, metadata, checksum, fileName, caller: owner },
			bytes: bytes?.length ?? size,
			indexed: indexedMetadata({ key, metadata, timestamp: now }, custom),
			source: sourceId(source),
		},
	};
}

/** The bytes of an item whose content is not stored. Throws `ItemFailure`. */
export async function bytesOfObject(
	{ key, maxBytes }: { key: string; maxBytes: number },
	{ instance, services }: Pick<SourceRun, "instance" | "services">,
): Promise<ArrayBuffer> {
	const { origin } = instance.record.config;
	const { sources } = services.searchInstances;
	const object = origin && (await sources.buckets.get(origin.source)?.bucket.get(key));
	if (!object) throw new ItemFailure("file_not_found", "The object was deleted");
	if (object.size > maxBytes) {
		await object.body.cancel();
		throw new ItemFailure("over_size", `The object has more than ${maxBytes} bytes`);
	}
	return object.arrayBuffer();
}
