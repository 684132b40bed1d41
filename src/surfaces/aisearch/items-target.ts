/** The items of an instance over RPC. */
import { RpcTarget } from "cloudflare:workers";
import { BufferHold } from "../../core/process-counts.ts";
import { parseFields } from "../../http/account-request.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import type { SearchItem } from "../../retrieval/search/records.ts";
import { bodyBytes } from "./body-bytes.ts";
import { type BoundInstance, withInstance } from "./bound-instance.ts";
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
import { itemJson, pageInfo } from "./json.ts";
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
const MAX_POLL_TIMEOUT_MS = 600_000;

const json = (item: SearchItem, { instance }: SearchedCall): object =>
	itemJson(item, instance.record.namespace);

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
			const { total, values } = await listItems({ ...query, id, sortBy, page, perPage }, call);
			return {
				result: values.map((item) => json(item, call)),
				result_info: pageInfo({ page, perPage, total, shown: values.length }),
			};
		});
	}

	/** Returns when the file is stored, before it is indexed. */
	upload(name: string, content: Content, options?: UploadOptions): Promise<object> {
		return withInstance(this.#bound, async (call) => json(await upload(name, content, options, call), call));
	}

	/** Returns when the item is indexed, or after `timeoutMs`. */
	uploadAndPoll(name: string, content: Content, options?: PollOptions): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const { id } = await upload(name, content, options, call);
			const { pollIntervalMs: intervalMs = POLL_MS, timeoutMs = POLL_TIMEOUT_MS } = options ?? {};
			const bounds = {
				intervalMs: Math.max(1, Number(intervalMs)),
				timeoutMs: Math.min(Number(timeoutMs), MAX_POLL_TIMEOUT_MS),
			};
			return json(await whenIndexed(id, call, bounds), call);
		});
	}

	get(id: string): ItemTarget {
		return new ItemTarget(id, this.#bound);
	}

	delete(id: string): Promise<void> {
		return withInstance(this.#bound, async (call) => void (await deleteItem(id, call)));
	}
}

async function upload(
	name: string,
	content: Content,
	options: UploadOptions | undefined,
	call: SearchedCall,
): Promise<SearchItem> {
	if (typeof name !== "string") throw searchFailure("searchFileMissing", "the file has no name");
	const mimeType = content instanceof Blob ? content.type : "";
	const hold = new BufferHold(call.caller.account);
	try {
		const body = content instanceof ReadableStream ? content : new Response(content as BodyInit).body;
		const bytes = body ? await bodyBytes(body, checkFile(name, mimeType), hold) : new Uint8Array();
		return await uploadItem({ key: name, mimeType, bytes, metadata: options?.metadata }, call);
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
		return withInstance(this.#bound, async (call) => json(await requireItem(this.#id, call), call));
	}

	download(): Promise<object> {
		return withInstance(this.#bound, async (call) => {
			const { body, item } = await downloadItem(this.#id, call);
			return { body, contentType: item.contentType, filename: item.key, size: item.bytes };
		});
	}

	sync(): Promise<object> {
		return withInstance(this.#bound, async (call) => json(await syncItem(this.#id, call), call));
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
