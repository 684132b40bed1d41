/**
 * The contract of stored objects, which rooms above the pipeline use. The objects of an account have keys, such as
 * `files/{id}`: a room starts its keys with its own name. Three stores have the bytes, and callers see no difference:
 * `stores.ts`.
 *
 * A put is atomic: a reader gets the old object or the new one, whole. Bytes of a put that fails or is interrupted are
 * neither listed nor counted, and are deleted later.
 */

/** A stream is read to its end, or cancelled. */
export type BlobBody = Uint8Array | ReadableStream<Uint8Array>;

export interface BlobHead {
	key: string;
	/** Size in bytes. */
	bytes: number;
	/** Differs between two puts of the same key. */
	version: string;
	/** Epoch milliseconds. */
	storedAt: number;
}

/** Bytes of an object: from `offset`, or the last `suffix` bytes. A part beyond the end is left out. */
export type BlobRange = { offset: number; length?: number } | { suffix: number };

export interface StoredBlob extends BlobHead {
	/** The bytes of the body. `length` is 0 for a range beyond the end. */
	range: { offset: number; length: number };
	/** Fails if the object is deleted before it is read. */
	body: ReadableStream<Uint8Array>;
}

export interface PutOptions {
	/** Larger bodies are refused (3006). Absent: only the bound of the account applies. */
	maxBytes?: number;
	/** The size of a stream, if it is known. A size that cannot be stored is refused before the stream is read. */
	bytes?: number;
	/** Each piece of a stream is the only user of its buffer. Its memory is freed when it is stored. */
	isOwned?: boolean;
}

export interface ListOptions {
	prefix?: string;
	/** Keys after this one. */
	after?: string;
	/** 1 to 1000. Default: 1000. */
	limit?: number;
}

/** In the order of the bytes of the keys. `after`: for the next page; absent on the last one. */
export interface BlobPage {
	blobs: BlobHead[];
	after?: string;
}

/** The objects of one account. Failures: `storageFull`, `requestTooLarge`, `storageUnavailable`. */
export interface Blobs {
	/** Replaces an object with the same key. Resolves when the object is durable. */
	put(key: string, body: BlobBody, options?: PutOptions): Promise<BlobHead>;
	/** `undefined`: there is no such object. */
	get(key: string, range?: BlobRange): Promise<StoredBlob | undefined>;
	head(key: string): Promise<BlobHead | undefined>;
	/** @returns the number of objects that existed. */
	delete(keys: string | readonly string[]): Promise<number>;
	/** Deletes all objects whose keys start with the prefix. @returns their number. */
	deletePrefix(prefix: string): Promise<number>;
	list(options?: ListOptions): Promise<BlobPage>;
}
