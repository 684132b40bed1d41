/** The operations on the items of an instance, as the bindings and the REST routes have them. */
import { AiError, toAiError } from "../../core/errors.ts";
import { quotedName } from "../../core/not-found.ts";
import { requireDiskSpace } from "../../core/object-failure.ts";
import { heldBody } from "../../http/held-body.ts";
import type { Caller } from "../../pipeline/request.ts";
import { checksumOf } from "../../retrieval/search/checksum.ts";
import type { OpenInstance } from "../../retrieval/search/client/search-instances.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { deleteFile, deleteUnstored } from "../../retrieval/search/item-files.ts";
import { MAX_ITEMS, MAX_KEY_CHARACTERS, MAX_WAIT_MS } from "../../retrieval/search/limits.ts";
import { isSupported, maxBytesOf } from "../../retrieval/search/markdown.ts";
import { indexedMetadata, readMetadata } from "../../retrieval/search/metadata.ts";
import { filesOf, type SearchItem } from "../../retrieval/search/records.ts";
import { cleanItem, ingestItem, workInstance } from "../../retrieval/search/work-items.ts";
import type { AppServices } from "../services.ts";

/** An instance, for one caller. */
export interface InstanceCall {
	caller: Caller;
	instance: OpenInstance;
	services: AppServices;
}

interface UploadedItem {
	key: string;
	/** Of the sender. */
	mimeType: string;
	bytes: Uint8Array;
	metadata: unknown;
}

const WAIT_STEP_MS = 200;

/** Before the bytes are read. Throws 7060, 7072. Returns the most bytes that the file may have. */
export function checkFile(key: string, mimeType: string): number {
	if (key === "" || !key.isWellFormed()) throw searchFailure("searchFileMissing", "the file has no name");
	if (key.length > MAX_KEY_CHARACTERS) throw searchFailure("searchFilenameTooLong");
	const file = { name: key, mimeType };
	if (!isSupported(file)) throw searchFailure("searchFileUnsupported");
	return maxBytesOf(file);
}

/** Stores the file, or replaces that of the item with its key, and queues the item. Throws 7054, 7056, 7060, 7072. */
export async function uploadItem(
	{ bytes, key, metadata: sent, mimeType }: UploadedItem,
	{ caller, instance, services }: InstanceCall,
): Promise<SearchItem> {
	const { account, record } = instance;
	if (bytes.length > checkFile(key, mimeType)) throw searchFailure("searchFileTooLarge");
	const metadata = readMetadata(sent ?? {});
	requireDiskSpace("items");
	const now = services.now();
	const content = crypto.randomUUID();
	const blobs = services.storage.blobs(account);
	await blobs.put(filesOf(record.object) + content, bytes);
	const { custom_metadata: custom } = record.config;
	const putting = instance.call(async (object) =>
		object.put(
			crypto.randomUUID(),
			{
				...{ key, content, contentType: mimeType, metadata },
				bytes: bytes.length,
				checksum: await checksumOf(bytes),
				indexed: indexedMetadata({ key, metadata, timestamp: now }, custom),
				caller: { account: caller.account, credential: caller.credential },
			},
			now,
		),
	);
	const put = await putting.catch(async (thrown) => {
		await deleteUnstored({ content, key }, instance, services);
		throw thrown;
	});
	if (put === "full" || put === "gone") {
		await deleteFile(content, instance, services);
		if (put === "gone") throw searchFailure("searchNotFound", quotedName(record.id));
		throw searchFailure("searchFileTooLarge", `an instance has at most ${MAX_ITEMS} items`);
	}
	await deleteFile(put.replaced, instance, services);
	await enqueue(put.item, instance, services);
	return put.item;
}

/** If the process ends before that, or the queue is full, the instance's object enqueues the item. */
async function enqueue(
	item: SearchItem,
	instance: OpenInstance,
	{ log, storage }: AppServices,
): Promise<void> {
	await storage.queue
		.enqueue(ingestItem(workInstance(instance), item))
		.catch((thrown) => log(toAiError(thrown), ""));
}

/** Throws 7041. The caller may have sent the key. */
async function itemNotFound(id: string, instance: OpenInstance): Promise<never> {
	const named = await instance.call((object) => object.itemByKey(id));
	const cure = named ? `; the id of this key is "${named.id}"` : "";
	throw searchFailure("searchItemNotFound", quotedName(id) + cure);
}

/** Throws 7041. */
export async function requireItem(
	id: string,
	{ instance }: Pick<InstanceCall, "instance">,
): Promise<SearchItem> {
	const item = await instance.call((object) => object.item(id));
	return item ?? itemNotFound(id, instance);
}

/** Indexes an item again. Throws 7041. */
export async function syncItem(id: string, { instance, services }: InstanceCall): Promise<SearchItem> {
	const item = await instance.call((object) => object.sync(id, services.now()));
	if (!item) return itemNotFound(id, instance);
	await enqueue(item, instance, services);
	return item;
}

/** Throws 7041. */
export async function deleteItem(id: string, { instance, services }: InstanceCall): Promise<SearchItem> {
	const item = await instance.call((object) => object.remove(id));
	if (!item) return itemNotFound(id, instance);
	await deleteFile(item.content, instance, services);
	const { account, record } = instance;
	const size = await instance.call((object) => object.size());
	await services.searchInstances.report(account, record.object, size);
	// The instance's object enqueues it too.
	await services.storage.queue.enqueue(cleanItem(workInstance(instance))).catch(() => 0);
	return item;
}

/** The item when its run has ended, or after `timeoutMs`. Throws if the caller leaves. */
export async function whenIndexed(
	id: string,
	call: InstanceCall & { signal: AbortSignal },
	{ intervalMs = WAIT_STEP_MS, timeoutMs = MAX_WAIT_MS } = {},
): Promise<SearchItem> {
	for (let waited = 0; ; waited += intervalMs) {
		if (call.signal.aborted) throw new AiError("aborted");
		const item = await requireItem(id, call);
		if ((item.status !== "queued" && item.status !== "running") || waited >= timeoutMs) return item;
		await call.services.wait(intervalMs);
	}
}

/** The bytes of an uploaded item. Throws 7041, 7059. */
export async function downloadItem(
	id: string,
	call: InstanceCall & { signal: AbortSignal },
): Promise<{ item: SearchItem; body: ReadableStream<Uint8Array> }> {
	const item = await requireItem(id, call);
	if (item.source !== undefined) throw searchFailure("searchDownloadExternal");
	const { account, record } = call.instance;
	const key = filesOf(record.object) + item.content;
	const blob = await heldBody({ account, signal: call.signal }, () =>
		call.services.storage.blobs(account).get(key),
	);
	if (!blob) return itemNotFound(id, call.instance);
	return { item, body: blob.body };
}
