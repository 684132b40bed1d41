/** The messages between the isolates and the `JobStore` object. Plain data, because they cross RPC. */
import type { AdapterBounds, AdapterUsage } from "./adapters/records.ts";

/** `foreign`: the object exists, and the scope does not include it. */
interface MissingJob {
	kind: "file" | "batch";
	id: string;
	foreign?: true;
}

export type FoundJob<Value> = { ok: true; value: Value } | { ok: false; missing: MissingJob };

/** A stored file. Its bytes are a stored object with the key of `fileKey`. Times are epoch milliseconds. */
export interface FileRecord {
	id: string;
	owner: string;
	purpose: string;
	filename: string;
	contentType: string;
	bytes: number;
	createdAt: number;
	/** Absent: it is kept until it is deleted. */
	expiresAt?: number;
}

export type NewFile = Pick<FileRecord, "id" | "owner" | "createdAt">;

/** `after`, `before`: ids of files at the ends of other pages. */
export interface FilesQuery {
	limit: number;
	order: "asc" | "desc";
	after?: string;
	before?: string;
	purpose?: string;
	ids?: readonly string[];
}

export interface FilesPage {
	files: FileRecord[];
	hasMore: boolean;
}

/** The bounds of each account. From `JOBS`. */
export interface JobBounds {
	maxFiles: number;
	fileBytes: number;
	maxBatches: number;
	/** Replays, also those that have ended. */
	maxReplays: number;
	adapters: AdapterBounds;
}

export interface JobUsage extends AdapterUsage {
	files: number;
	fileBytes: number;
	/** Batches that have not ended. */
	openBatches: number;
	/** Lines of these batches that wait or run. */
	openLines: number;
	/** Seconds since the creation of the oldest of these batches. 0: there is none. */
	oldestSeconds: number;
	/** Lines that were answered, since the object was created. */
	finishedLines: number;
	/** Replays, also those that have ended. */
	replays: number;
	/** Calls that were repeated because their process ended before the result was stored. The operator pays for them. */
	repeatedLines: number;
	/** Lines that ended without a result, because their batch was cancelled, was out of time, or failed. */
	discardedLines: number;
}

/** The key of the bytes of a file. */
export const fileKey = (id: string): string => `files/${id}`;

/** The key of the lines of a batch that were sent with the request that created it. */
export const ownInputKey = (batch: string): string => `batches/${batch}`;
