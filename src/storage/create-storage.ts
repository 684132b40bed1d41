/** Creates the storage of the rooms from the bindings and the settings. */
import { AccountBlobs, type BlobServices } from "./blobs/account-blobs.ts";
import type { BlobStore } from "./blobs/blob-store.ts";
import { QueueClient } from "./queue/queue-client.ts";
import { QUEUE_NAME, type WorkQueueObject } from "./queue/work-queue.ts";
import type { RemoteCalls } from "./remote-calls.ts";
import type { Storage, StorageSetting } from "./storage.ts";

export interface StorageBindings {
	blobs: DurableObjectNamespace<BlobStore>;
	queue: DurableObjectNamespace<WorkQueueObject>;
}

export function createStorage({ blobs, queue }: StorageBindings, { maxBytes }: StorageSetting): Storage {
	const services: BlobServices = {
		object: (account) => callsOf<BlobStore>(blobs.getByName(account)),
		contents: () => undefined,
		maxBytes,
		uuid: () => crypto.randomUUID(),
	};
	return {
		blobs: (account) => new AccountBlobs(account, services),
		queue: new QueueClient(() => callsOf<WorkQueueObject>(queue.getByName(QUEUE_NAME))),
	};
}

const callsOf = <T>(stub: object): RemoteCalls<T> => stub as RemoteCalls<T>;
