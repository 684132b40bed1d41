/** `STORAGE`: bounds of what outlives a request, for each account and for the queue of work. */
import * as z from "zod";
import { present } from "../core/present.ts";
import type { S3Setting } from "../storage/blobs/s3-setting.ts";
import type { StorageSetting } from "../storage/storage.ts";
import { positiveCount } from "./amounts.ts";
import { type Env, secret } from "./headers.ts";

const GIB = 1024 ** 3;
/** The platform gives each account's object 10 GB. */
const DEFAULT_BYTES = 5 * GIB;
const DEFAULT_ITEMS = 100_000;
const DEFAULT_CONCURRENCY = 32;
const DEFAULT_ACCOUNT_CONCURRENCY = 8;

const count = positiveCount;

const Endpoint = z.string().transform((text, context) => {
	const url = URL.parse(text);
	if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash)
		return url.href.replace(/\/$/, "");
	context.addIssue(
		"expected the http or https address of an S3-compatible store, without the bucket, found another text",
	);
	return z.NEVER;
});

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const Bucket = z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, {
	error: "expected the name of a bucket: 3 to 63 lower-case letters, digits, '.' and '-', found another text",
});

const s3 = (env: Env) =>
	z
		.strictObject({
			endpoint: Endpoint,
			bucket: Bucket,
			/** Names of secrets. */
			access_key_id: secret(env),
			secret_access_key: secret(env),
			region: z
				.string()
				.regex(/^[\w-]+$/, { error: "expected a region, found another text" })
				.default("auto"),
			/** Before the names of all objects, for a bucket with several users. */
			prefix: z
				.string()
				.regex(/^(?:[\w.-]+\/)*$/, { error: 'expected a folder such as "ganglion/", found another text' })
				.default(""),
			path_style: z.boolean().default(true),
		})
		.transform(
			({ endpoint, bucket, region, prefix, access_key_id, secret_access_key, path_style }): S3Setting => ({
				endpoint,
				bucket,
				region,
				prefix,
				accessKeyId: access_key_id,
				secretAccessKey: secret_access_key,
				pathStyle: path_style,
			}),
		);

export const storageSchema = (env: Env) =>
	z
		.strictObject({
			s3: s3(env).optional(),
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
				...present({ s3: set.s3 }),
				accountBytes: { others: set.account_bytes, accounts },
				queue: {
					accountItems: set.account_items,
					concurrency: set.concurrency,
					accountConcurrency: set.account_concurrency,
				},
			};
		});
