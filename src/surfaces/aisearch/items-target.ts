/** The items of an instance over RPC. */
import { RpcTarget } from "cloudflare:workers";
import { BufferHold } from "../../core/process-counts.ts";
import { parseFields } from "../../http/account-request.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import type { SearchItem } from "../../retrieval/search/records.ts";
import { bodyBytes } from "./body-bytes.ts";
import { type BoundInstance, withInstance, workWithInstance } from "./bound-instance.ts";
import { ChunkRange, ItemListing, itemChunks, itemLogs, LogRange, listItems } from "./item-lists.ts";
import {
	checkFile,
	deleteItem,
	downloadItem,
	requireItem,
	syncItem,
	uploadItem,
	whenIndexed,
} from "./item-operations.ts";
import { itemJson, pageJson } from "./json.ts";
import type { SearchedCall } from "./search-operations.ts";

type Content = ReadableStream<Uint8Array> | Blob | ArrayBuffer | ArrayBufferView | string;

interface UploadOptions {
	metadata?: unknown;
}

interface PollOptions extends UploadOptions {
	pollIntervalMs?: number;
	timeoutMs?: number;
}

const POLL_MS = 1_000;
const POLL_TIMEOUT_MS = 30_000;
const MIN_POLL_MS = 100;
const MAX_POLL_TIMEOUT_MS = 600_000;

/** What is no number is replaced: a poll must end. */
const milliseconds = (sent: unknown, otherwise: number): number =>
	typeof sent === "number" && sent > 0
		? Math.min(Math.max(sent, MIN_POLL_MS), MAX_POLL_TIMEOUT_MS)
		: otherwise;

export class ItemsTarget extends RpcTarget {
	readonly #bound: BoundInstance;

	constructor(bound: BoundInstance) {
		super();
		this.#bound = bound;
	}

	list(params: unknown = {}): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const listing = parseFields(ItemListing(), params ?? {}, "query");
			const { item_id: id, page, per_page: perPage, sort_by: sortBy, ...query } = listing;
			const found = await listItems({ ...query, id, sortBy, page, perPage }, call);
			return pageJson(found, listing, (item) => itemJson(item, call));
		});
	}

	/** Returns when the file is stored, before it is indexed. */
	upload(name: string, content: Content, options?: UploadOptions): Promise<object> {
		const file = sentFile(name, content, this.#bound);
		return this.#uploading(file, async (call) => itemJson(await upload(file, options, call), call));
	}

	/** Returns when the item is indexed, or after `timeoutMs`. */
	uploadAndPoll(name: string, content: Content, options?: PollOptions): Promise<object> {
		const file = sentFile(name, content, this.#bound);
		return this.#uploading(file, async (call) => {
			const { id } = await upload(file, options, call);
			const { pollIntervalMs, timeoutMs } = options ?? {};
			const bounds = {
				intervalMs: milliseconds(pollIntervalMs, POLL_MS),
				timeoutMs: milliseconds(timeoutMs, POLL_TIMEOUT_MS),
			};
			return itemJson(await whenIndexed(id, call, bounds), call);
		});
	}

	/** The instance may be refused while the file is read. */
	#uploading<Value>({ hold }: SentContent, method: (call: SearchedCall) => Promise<Value>): Promise<Value> {
		return workWithInstance(this.#bound, method).finally(() => hold.close());
	}

	get(id: string): ItemTarget {
		return new ItemTarget(id, this.#bound);
	}

	delete(id: string): Promise<void> {
		return withInstance(this.#bound, async (call) => void (await deleteItem(id, call)));
	}
}

interface SentContent {
	key: string;
	mimeType: string;
	hold: BufferHold;
	bytes(): Promise<Uint8Array>;
}

/** A stream belongs to the context of the call, so it is read there. */
function sentFile(name: string, content: Content, { caller }: BoundInstance): SentContent {
	const mimeType = content instanceof Blob ? content.type : "";
	const hold = new BufferHold(caller.account);
	const read = async (): Promise<Uint8Array> => {
		if (typeof name !== "string") throw searchFailure("searchFileMissing", "the file has no name");
		const body = content instanceof ReadableStream ? content : new Response(content as BodyInit).body;
		return body ? bodyBytes(body, checkFile(name, mimeType), hold) : new Uint8Array();
	};
	const reading = content instanceof ReadableStream ? read() : undefined;
	reading?.catch(() => {});
	return { key: name, mimeType, hold, bytes: () => reading ?? read() };
}

async function upload(
	{ bytes, hold, ...file }: SentContent,
	options: UploadOptions | undefined,
	call: SearchedCall,
): Promise<SearchItem> {
	hold.releaseOn(call.signal);
	try {
		return await uploadItem({ ...file, bytes: await bytes(), metadata: options?.metadata }, call);
	} finally {
		hold.release();
	}
}

class ItemTarget extends RpcTarget {
	readonly #id: string;
	readonly #bound: BoundInstance;

	constructor(id: string, bound: BoundInstance) {
		super();
		this.#id = String(id);
		this.#bound = bound;
	}

	info(): Promise<object> {
		return withInstance(this.#bound, async (call) => itemJson(await requireItem(this.#id, call), call));
	}

	download(): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const { body, item } = await downloadItem(this.#id, call);
			return { body, contentType: item.contentType, filename: item.key, size: item.bytes };
		});
	}

	sync(): Promise<object> {
		return withInstance(this.#bound, async (call) => itemJson(await syncItem(this.#id, call), call));
	}

	logs(params: unknown = {}): Promise<object> {
		return withInstance(this.#bound, (call) =>
			itemLogs(this.#id, parseFields(LogRange(), params ?? {}, "query"), call),
		);
	}

	chunks(params: unknown = {}): Promise<object> {
		return withInstance(this.#bound, (call) =>
			itemChunks(this.#id, parseFields(ChunkRange(), params ?? {}, "query"), call),
		);
	}
}
