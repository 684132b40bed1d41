/** Creates the storage of the rooms from the bindings and the settings. */
import type { DeletedAccounts } from "../core/deleted-accounts.ts";
import { present } from "../core/present.ts";
import { AccountBlobs, type BlobServices } from "./blobs/account-blobs.ts";
import type { BlobStoreObject } from "./blobs/blob-store.ts";
import type { ContentStore } from "./blobs/contents.ts";
import { lazyS3Contents } from "./blobs/lazy-s3-contents.ts";
import { r2Contents } from "./blobs/r2-contents.ts";
import type { S3Services } from "./blobs/s3-setting.ts";
import { QueueClient } from "./queue/queue-client.ts";
import { QUEUE_NAME, type WorkQueueObject } from "./queue/work-queue.ts";
import type { RemoteCalls } from "./remote-calls.ts";
import type { Storage, StorageSetting } from "./storage.ts";

/** `services`: for calls of an S3-compatible store. */
export interface StorageBindings {
	blobs: DurableObjectNamespace<BlobStoreObject>;
	queue: DurableObjectNamespace<WorkQueueObject>;
	bucket?: R2Bucket | undefined;
	services: S3Services;
	/** Absent: no account is deleted. */
	deletedAccounts?: DeletedAccounts;
}

export function createStorage(bindings: StorageBindings, setting: StorageSetting): Storage {
	const { blobs, deletedAccounts, queue } = bindings;
	const contents = contentStores(bindings, setting);
	const services: BlobServices = {
		object: (account) => callsOf<BlobStoreObject>(blobs.getByName(account)),
		contents: (store) => contents[store],
		maxBytes: (account: string) => setting.accountBytes.accounts.get(account) ?? setting.accountBytes.others,
		uuid: () => crypto.randomUUID(),
		...present({ outside: contents.s3 ?? contents.r2 }),
	};
	return {
		blobs: (account) => new AccountBlobs(account, services),
		queue: new QueueClient(() => callsOf<WorkQueueObject>(queue.getByName(QUEUE_NAME)), deletedAccounts),
	};
}

/** The stores outside that are configured. New objects go to S3 if both are. */
export const contentStores = (
	{ bucket, services }: Pick<StorageBindings, "bucket" | "services">,
	{ s3 }: Pick<StorageSetting, "s3">,
): Partial<Record<ContentStore["store"], ContentStore>> => ({
	...(bucket && { r2: r2Contents(bucket) }),
	...(s3 && { s3: lazyS3Contents(s3, services) }),
});

const callsOf = <T>(stub: object): RemoteCalls<T> => stub as RemoteCalls<T>;
