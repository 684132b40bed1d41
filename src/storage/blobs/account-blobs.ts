/** The objects of one account, for the rooms: calls of its `BlobStore` object, and of the store outside if there is one. */
import { AiError } from "../../core/errors.ts";
import { callStorage, requireDiskSpace } from "../../core/object-failure.ts";
import { release } from "../../media/bytes.ts";
import { PulledStream } from "../../streams/pulled-stream.ts";
import type { RemoteCalls } from "../remote-calls.ts";
import type { BlobStoreObject, OpenedBlob, PutRefusal, PutResult } from "./blob-store.ts";
import type { StoreName, StoreUsage } from "./blob-table.ts";
import type {
	BlobBody,
	BlobHead,
	BlobPage,
	BlobRange,
	Blobs,
	ListOptions,
	PutOptions,
	StoredBlob,
} from "./blobs.ts";
import { checkKey } from "./check-key.ts";
import type { ContentStore } from "./contents.ts";
import { PART_BYTES } from "./multipart.ts";
import { partsOf } from "./parts.ts";
import { PIECE_BYTES } from "./piece-table.ts";

export const MAX_PAGE = 1_000;

export interface BlobServices {
	/** A stub belongs to the request that created it, so each call creates its own. */
	object(account: string): RemoteCalls<BlobStoreObject>;
	/** New contents go there. Absent: to the account's object. */
	outside?: ContentStore;
	/** All stores that are configured. */
	contents(store: ContentStore["store"]): ContentStore | undefined;
	/** Bytes of all objects of an account. */
	maxBytes(account: string): number;
	uuid(): string;
}

interface PutInProgress {
	content: number;
	store: StoreName;
	/** Read from the body so far. */
	bytes: number;
	/** The size that the caller has announced. It is counted already. */
	announced: number;
	/** Of the object. */
	maxBytes: number;
	isOwned: boolean;
	/** Why the parts have ended early. */
	failure?: Error;
}

export class AccountBlobs implements Blobs {
	readonly #account: string;
	readonly #services: BlobServices;

	constructor(account: string, services: BlobServices) {
		this.#account = account;
		this.#services = services;
	}

	async put(key: string, body: BlobBody, options: PutOptions = {}): Promise<BlobHead> {
		checkKey(key);
		requireDiskSpace("objects");
		const { isOwned = false, maxBytes = Number.POSITIVE_INFINITY } = options;
		const bytes = body instanceof Uint8Array ? body.length : options.bytes;
		if (bytes !== undefined && bytes > maxBytes) {
			if (!(body instanceof Uint8Array)) await body.cancel();
			throw tooLarge(maxBytes);
		}
		if (!this.#services.outside && body instanceof Uint8Array && body.length <= PIECE_BYTES)
			return (await this.#checked((stub) => stub.putPiece(key, body, this.maxBytes))).head;
		return this.#putParts(key, body, { ...(bytes !== undefined && { bytes }), maxBytes, isOwned });
	}

	async get(key: string, range?: BlobRange): Promise<StoredBlob | undefined> {
		for (let tries = 0; ; tries++) {
			const opened = await this.#call((stub) => stub.open(key, range));
			if (!opened) return undefined;
			const { key: _, bytes, version, storedAt, range: part } = opened;
			const body =
				opened.store === "pieces" ? this.#pieces(opened) : await this.#outside(opened, opened.store);
			// The object may have been replaced meanwhile.
			if (!body && tries === 0) continue;
			if (!body) throw new AiError("storageUnavailable", `the bytes of an object are not in ${opened.store}`);
			return { key, bytes, version, storedAt, range: part, body };
		}
	}

	head(key: string): Promise<BlobHead | undefined> {
		return this.#call((stub) => stub.head(key));
	}

	async delete(keys: string | readonly string[]): Promise<number> {
		const all = typeof keys === "string" ? [keys] : keys;
		let deleted = 0;
		for (let at = 0; at < all.length; at += MAX_PAGE)
			deleted += await this.#call((stub) => stub.remove(all.slice(at, at + MAX_PAGE)));
		return deleted;
	}

	async deletePrefix(prefix: string): Promise<number> {
		let deleted = 0;
		for (;;) {
			const step = await this.#call((stub) => stub.removePrefix(prefix, MAX_PAGE));
			deleted += step;
			if (step < MAX_PAGE) return deleted;
		}
	}

	list({ prefix = "", after = "", limit = MAX_PAGE }: ListOptions = {}): Promise<BlobPage> {
		const bounded = Math.min(Math.max(1, Math.floor(limit)), MAX_PAGE);
		return this.#call((stub) => stub.list({ prefix, after, limit: bounded }));
	}

	usage(): Promise<StoreUsage[]> {
		return this.#call((stub) => stub.usage());
	}

	/** Of all objects of the account. */
	get maxBytes(): number {
		return this.#services.maxBytes(this.#account);
	}

	async #putParts(
		key: string,
		body: BlobBody,
		{ bytes = 0, maxBytes, isOwned }: { bytes?: number; maxBytes: number; isOwned: boolean },
	): Promise<BlobHead> {
		const { outside, uuid } = this.#services;
		const name = outside ? `${this.#account}/${uuid()}` : null;
		const store = outside?.store ?? "pieces";
		let put: PutInProgress | undefined;
		try {
			const bounds = { bytes, maxBytes: this.maxBytes };
			const { content } = await this.#checked((stub) => stub.begin({ store, name }, bounds));
			const begun: PutInProgress = { content, store, bytes: 0, announced: bytes, maxBytes, isOwned };
			put = begun;
			const parts = this.#counted(body, begun);
			if (outside && name !== null) await external(outside, outside.write(name, parts));
			else for await (const _ of parts);
			return (await this.#checked((stub) => stub.commit(key, content, begun.bytes))).head;
		} catch (error) {
			if (!(body instanceof Uint8Array) && !body.locked) await body.cancel(error).catch(() => {});
			const failed = put?.content;
			// If this call fails too, the object finds that the put has ended.
			if (failed !== undefined) await this.#call((stub) => stub.abandon(failed)).catch(() => {});
			// The store reports that its call has failed, and the cause is the body or the account's object.
			throw put?.failure ?? error;
		}
	}

	/** The parts of a body. Each one is counted before it is stored; those of `pieces` are stored here. */
	async *#counted(body: BlobBody, put: PutInProgress): AsyncGenerator<Uint8Array> {
		try {
			let piece = 0;
			const { isOwned, store } = put;
			for await (const part of partsOf(body, store === "pieces" ? PIECE_BYTES : PART_BYTES, isOwned)) {
				await this.#count(part, piece++, put);
				yield part;
				if (isOwned && store === "pieces") release(part);
			}
		} catch (error) {
			put.failure = error instanceof Error ? error : new Error("The body failed", { cause: error });
			throw error;
		}
	}

	async #count(part: Uint8Array, piece: number, put: PutInProgress): Promise<void> {
		const { content, store } = put;
		put.bytes += part.length;
		if (store === "pieces") requireDiskSpace("objects");
		if (put.bytes > put.maxBytes) throw tooLarge(put.maxBytes);
		const added = Math.min(part.length, Math.max(0, put.bytes - put.announced));
		const call = { added, maxBytes: this.maxBytes };
		await this.#checked((stub) =>
			store === "pieces"
				? stub.append(content, { ...call, piece, bytes: part })
				: stub.extend(content, { ...call, store }),
		);
	}

	#pieces({ content, range, first }: OpenedBlob): ReadableStream<Uint8Array> {
		const end = range.offset + range.length;
		let at = range.offset;
		let next = first;
		return new PulledStream<Uint8Array>({
			pull: async () => {
				if (at >= end) return undefined;
				const offset = at;
				const piece = next ?? (await this.#call((stub) => stub.read(content, offset, end)));
				next = undefined;
				if (!piece) throw new AiError("storageUnavailable", "an object was deleted while it was read");
				at += piece.length;
				return piece;
			},
			cancel: async () => {},
		});
	}

	async #outside(
		{ name, range }: OpenedBlob,
		store: Exclude<StoreName, "pieces">,
	): Promise<ReadableStream<Uint8Array> | undefined> {
		if (range.length === 0) return new Response().body ?? new ReadableStream({ start: (c) => c.close() });
		const contents = this.#services.contents(store);
		if (!contents || name === null)
			throw new AiError("storageUnavailable", `an object is in the store ${store}, which is not configured`);
		const body = await external(contents, contents.read(name, range));
		// Fails if the store ends the body early.
		return body?.pipeThrough(new FixedLengthStream(range.length));
	}

	/** A call whose refusal is a failure. */
	async #checked<T>(method: (stub: RemoteCalls<BlobStoreObject>) => Promise<PutResult<T>>): Promise<T> {
		const result = await this.#call(method);
		if (result.ok) return result;
		throw this.#failureOf(result);
	}

	#failureOf(refusal: PutRefusal): AiError {
		if (refusal.reason === "lost") return new AiError("storageUnavailable", "a put was interrupted");
		return new AiError(
			"storageFull",
			`The account's storage is full: it has ${refusal.stored} bytes of at most ${this.maxBytes}`,
		);
	}

	#call<T>(method: (stub: RemoteCalls<BlobStoreObject>) => Promise<T>): Promise<T> {
		return callStorage(() => method(this.#services.object(this.#account)));
	}
}

const tooLarge = (maxBytes: number): AiError =>
	new AiError("requestTooLarge", `The object is larger than ${maxBytes} bytes`);

/** Failures of a store outside, except those of the body and of the account's object. The log has the place. */
async function external<T>({ place }: ContentStore, call: Promise<T>): Promise<T> {
	try {
		return await call;
	} catch (cause) {
		if (cause instanceof AiError) throw cause;
		const error = new AiError("storageUnavailable", undefined, { cause });
		error.place = { ...place, ...refusalOf(cause) };
		throw error;
	}
}

/** The status and the code of a store's answer. */
function refusalOf(cause: unknown): { status?: number; storeCode?: string } {
	const { status, code } = cause as { status?: unknown; code?: unknown };
	return {
		...(typeof status === "number" && { status }),
		...(typeof code === "string" && { storeCode: code }),
	};
}
