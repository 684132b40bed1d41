/** Stores of bytes outside the account's object: `r2-contents.ts`, `s3-contents.ts`. They do not know the objects' keys. */
import type { StoreName } from "./blob-table.ts";

export interface ContentStore {
	readonly store: Exclude<StoreName, "pieces">;
	/** For messages: names the bucket, and contains no secret. */
	readonly address: string;
	/** A stream goes out in parts of this size at most. */
	readonly partBytes: number;
	/**
	 * Writes a new content. `parts` yields `partBytes` each time, except at the end; a content of one part is yielded once. If `parts`
	 * throws, nothing remains, or the content is incomplete and is deleted later.
	 */
	write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void>;
	/** `undefined`: there is no such content. `length` is at least 1. */
	read(
		name: string,
		range: { offset: number; length: number },
	): Promise<ReadableStream<Uint8Array> | undefined>;
	/** A content that does not exist is no failure. */
	delete(names: readonly string[]): Promise<void>;
}
