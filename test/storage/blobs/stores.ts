/** The three stores, for the contract of stored objects. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { inject } from "vitest";
import { AccountBlobs } from "../../../src/storage/blobs/account-blobs.ts";
import type { BlobStoreObject } from "../../../src/storage/blobs/blob-store.ts";
import type { StoreName } from "../../../src/storage/blobs/blob-table.ts";
import type { ContentStore } from "../../../src/storage/blobs/contents.ts";
import { lazyS3Contents } from "../../../src/storage/blobs/lazy-s3-contents.ts";
import { r2Contents } from "../../../src/storage/blobs/r2-contents.ts";
import type { S3Setting } from "../../../src/storage/blobs/s3-setting.ts";
import type { RemoteCalls } from "../../../src/storage/remote-calls.ts";

export const STORES: readonly StoreName[] = ["pieces", "r2", "s3"];

export const s3Setting = (): S3Setting => ({
	endpoint: inject("s3"),
	region: "us-east-1",
	bucket: "ganglion-tests",
	prefix: "gateway/",
	accessKeyId: "S3RVER",
	secretAccessKey: "S3RVER",
	pathStyle: true,
});

const bucket = (): R2Bucket => (env as unknown as { LOGS_BUCKET: R2Bucket }).LOGS_BUCKET;

const CONTENTS: Record<StoreName, () => ContentStore | undefined> = {
	pieces: () => undefined,
	r2: () => r2Contents(bucket()),
	s3: () => lazyS3Contents(s3Setting(), { fetch: (...call) => fetch(...call), wait: async () => {} }),
};

export interface TestStore {
	account: string;
	blobs: AccountBlobs;
	stub: RemoteCalls<BlobStoreObject>;
	/** Runs the alarm, which deletes contents of no object. */
	collect(): Promise<void>;
	/** Runs the alarm that is set. Returns whether there was one. */
	alarm(): Promise<boolean>;
	nextAlarm(): Promise<number | null>;
	/** The names of all contents that exist, and for `pieces` their numbers. */
	contents(): Promise<string[]>;
}

/** The objects of a new account. */
export async function openStore(
	store: StoreName,
	{ maxBytes = 1024 ** 3, outside = CONTENTS[store]() } = {},
): Promise<TestStore> {
	const account = `acme-${crypto.randomUUID()}`;
	const stub = (env.BLOBS as unknown as DurableObjectNamespace<BlobStoreObject>).getByName(account);
	await runInDurableObject(stub, (instance) => {
		Object.assign(instance, { contentStore: () => outside });
	});
	const blobs = new AccountBlobs(account, {
		object: () => stub as unknown as RemoteCalls<BlobStoreObject>,
		contents: () => outside,
		...(outside && { outside }),
		maxBytes: () => maxBytes,
		uuid: () => crypto.randomUUID(),
	});
	return {
		account,
		blobs,
		stub: stub as unknown as RemoteCalls<BlobStoreObject>,
		async collect() {
			await runInDurableObject(stub, (instance) => instance.alarm());
		},
		alarm: () => runDurableObjectAlarm(stub),
		nextAlarm: () => runInDurableObject(stub, (_, { storage }) => storage.getAlarm()),
		async contents() {
			if (store === "r2") return (await bucket().list({ prefix: account })).objects.map(({ key }) => key);
			if (store === "s3") {
				const { url, pathname } = { url: inject("s3"), pathname: "ganglion-tests" };
				const response = await fetch(`${url}/${pathname}?list-type=2&prefix=gateway/${account}`);
				return [...(await response.text()).matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = ""]) => key);
			}
			return runInDurableObject(stub, (_, { storage }) =>
				storage.sql
					.exec<{ content: number }>("SELECT DISTINCT content FROM pieces")
					.toArray()
					.map(({ content }) => String(content)),
			);
		},
	};
}
