/** Stores of bytes outside the account's object: `r2-contents.ts`, `s3-contents.ts`. They do not know the objects' keys. */
import type { StoreName } from "./blob-table.ts";

export interface ContentStore {
	readonly store: Exclude<StoreName, "pieces">;
	/** For the operator: the host or the binding, the bucket, and the setting. Contains no secret. */
	readonly place: ContentsPlace;
	/**
	 * Writes a new content. `parts` have `PART_BYTES` each, except the last one; an empty content has one empty part. If it rejects, the
	 * content does not exist, or exists and is deleted later.
	 */
	write(name: string, parts: AsyncIterable<Uint8Array>): Promise<void>;
	/** `undefined`: there is no such content. `length` is at least 1. */
	read(
		name: string,
		range: { offset: number; length: number },
	): Promise<ReadableStream<Uint8Array> | undefined>;
	/** A content that does not exist is no failure. */
	delete(names: readonly string[]): Promise<void>;
	/** Deletes what puts have left that did not end. Absent: the store does that. */
	abandon?(names: readonly string[]): Promise<void>;
}

interface ContentsPlace {
	/** The binding or the host. */
	store: string;
	bucket?: string;
	/** Where the operator has configured it. */
	setting: string;
}
