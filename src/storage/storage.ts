/** What rooms above the pipeline use to keep data longer than a request: objects of an account, and durable work. */
import type { StoreUsage } from "./blobs/blob-table.ts";
import type { Blobs } from "./blobs/blobs.ts";
import type { S3Setting } from "./blobs/s3-setting.ts";
import type { Queue } from "./queue/work.ts";
import type { QueueBounds } from "./queue/work-queue.ts";
import type { LaneCount } from "./queue/work-table.ts";

export interface Storage {
	blobs(account: string): Blobs & { readonly maxBytes: number; usage(): Promise<StoreUsage[]> };
	queue: Queue & { counts(): Promise<LaneCount[]> };
}

/** `STORAGE` */
export interface StorageSetting {
	/** Bytes of all objects of an account. `accounts`: those with a bound of their own. */
	accountBytes: { others: number; accounts: ReadonlyMap<string, number> };
	queue: QueueBounds;
	/** Absent: new objects are in the bucket of the binding, or else in the account's object. */
	s3?: S3Setting;
}
