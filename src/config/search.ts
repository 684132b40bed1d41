/** `AI_SEARCH`: how much an account can store in its AI Search instances, and which sources they may have. */
import * as z from "zod";
import type { SearchSettings } from "../retrieval/search/records.ts";
import type { SourceBucket } from "../retrieval/search/sources/source-config.ts";
import { positiveCount } from "./amounts.ts";
import type { Env } from "./headers.ts";
import { namedBinding } from "./named-binding.ts";

const DEFAULT_BYTES = 2_000_000_000;
const DEFAULT_INSTANCES = 100;
/** Of the product's paid plan. */
const MAX_INSTANCES = 5_000;
const DEFAULT_PAGES = 10_000;
const MAX_PAGES = 100_000;

const BucketName = z.string().regex(/^[\w.-]{1,64}$/, {
	error:
		"expected a name such as \"manuals\", of up to 64 letters, digits, '.', '_' and '-', found another text",
});

const bucket = (env: Env) =>
	z.strictObject({
		/** The name of an R2 binding. */
		binding: namedBinding(env, "an R2 binding", isBucket),
		/** Absent: all. */
		accounts: z.array(z.string().min(1)).optional(),
	});

const isBucket = (bound: object): bound is SourceBucket["bucket"] =>
	"createMultipartUpload" in bound && "list" in bound;

export const searchSchema = (env: Env) =>
	z
		.strictObject({
			/** Texts of all instances of an account on the disk, without their files and vectors. */
			max_bytes: positiveCount.default(DEFAULT_BYTES),
			/** Of an account. */
			max_instances: positiveCount.max(MAX_INSTANCES).default(DEFAULT_INSTANCES),
			/** Buckets that may be sources, by the name that an instance has. */
			buckets: z.record(BucketName, bucket(env)).default({}),
			/** Websites may be sources. */
			allow_network: z.boolean().default(false),
			/** Also those of a private network. */
			allow_private_addresses: z.boolean().default(false),
			/** Of one crawl. */
			max_pages: positiveCount.max(MAX_PAGES).default(DEFAULT_PAGES),
		})
		.transform((sent): SearchSettings => {
			const { allow_network, allow_private_addresses, buckets, max_bytes, max_instances, max_pages } = sent;
			return {
				maxBytes: max_bytes,
				maxInstances: max_instances,
				sources: {
					buckets: new Map(
						Object.entries(buckets).map(([name, { accounts, binding }]) => [
							name,
							{ bucket: binding, accounts },
						]),
					),
					allowNetwork: allow_network,
					allowPrivateAddresses: allow_private_addresses,
					maxPages: max_pages,
				},
			};
		});
