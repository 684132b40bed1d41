/** `STORAGE`: bounds of what outlives a request, for each account and for the queue of work. */
import * as z from "zod";
import type { StorageSetting } from "../storage/storage.ts";

const GIB = 1024 ** 3;
/** The platform gives each account's object 10 GB. */
const DEFAULT_BYTES = 5 * GIB;
const DEFAULT_ITEMS = 100_000;
const DEFAULT_CONCURRENCY = 32;
const DEFAULT_ACCOUNT_CONCURRENCY = 8;

const count = z.int().min(1);

export const StorageSchema = z
	.strictObject({
		/** Stored bytes of each account. */
		account_bytes: count.default(DEFAULT_BYTES),
		/** Other bounds of single accounts. */
		accounts: z.record(z.string(), z.strictObject({ bytes: count })).default({}),
		/** Items of work of each account, in the queue or dead. */
		account_items: count.default(DEFAULT_ITEMS),
		/** Items that run at the same time. */
		concurrency: count.default(DEFAULT_CONCURRENCY),
		/** Items of one account that run at the same time. */
		account_concurrency: count.default(DEFAULT_ACCOUNT_CONCURRENCY),
	})
	.transform((set): StorageSetting => {
		const accounts = new Map(Object.entries(set.accounts).map(([account, { bytes }]) => [account, bytes]));
		return {
			maxBytes: (account) => accounts.get(account) ?? set.account_bytes,
			queue: {
				accountItems: set.account_items,
				concurrency: set.concurrency,
				accountConcurrency: set.account_concurrency,
			},
		};
	});
