/** `JOBS`: files, batches and adapters of accounts, and how batches run. */
import * as z from "zod";
import type { BackendJobs, JobSettings } from "../jobs/batches/settings.ts";
import type { JobBounds } from "../jobs/records.ts";
import { decodeBase64 } from "../media/base64.ts";
import { positiveCount } from "./amounts.ts";
import { type Env, secret } from "./headers.ts";

/** As in OpenAI's API. */
const DEFAULT_FILE_BYTES = 512 * 1024 * 1024;
const DEFAULT_FILES = 10_000;
const DEFAULT_BATCHES = 100;
const DEFAULT_REPLAYS = 100;
/** That of the product's peers. */
const DEFAULT_DISCOUNT = 0.5;
const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 1_000;
/** Those of the product. */
const DEFAULT_ADAPTERS = 100;
const DEFAULT_ADAPTER_BYTES = 500_000_000;
const DEFAULT_RANK = 32;
const HOUR_MINUTES = 60;

const concurrency = positiveCount.max(MAX_CONCURRENCY);
const discount = z.number().min(0).max(1);

const BackendEntry = z.strictObject({ discount: discount.optional(), concurrency: concurrency.optional() });

const AdaptersEntry = z.strictObject({
	/** Adapters of each account. */
	max: positiveCount.default(DEFAULT_ADAPTERS),
	/** Of one file. */
	file_bytes: positiveCount.default(DEFAULT_ADAPTER_BYTES),
	max_rank: positiveCount.default(DEFAULT_RANK),
});

const Time = z
	.string()
	.regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, { error: 'expected a time such as "22:00", found another text' })
	.transform((text) => {
		const [hours = 0, minutes = 0] = text.split(":").map(Number);
		return hours * HOUR_MINUTES + minutes;
	});

const WEBHOOK_SECRET = /^whsec_/;

/** The bytes of a secret of Standard Webhooks: `whsec_` and base64, or any text. */
const webhookSecret = (env: Env) =>
	secret(env).transform((text, context): Uint8Array<ArrayBuffer> => {
		const bytes = WEBHOOK_SECRET.test(text)
			? decodeBase64(text.replace(WEBHOOK_SECRET, ""))
			: new Uint8Array(new TextEncoder().encode(text));
		if (bytes && bytes.length > 0) return bytes;
		context.addIssue('expected a secret that is a text, or "whsec_" and base64, found another');
		return z.NEVER;
	});

const webhookUrl = z.string().transform((text, context) => {
	const url = URL.parse(text);
	if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash) return url.href;
	context.addIssue("expected the http or https address of a webhook, found another text");
	return z.NEVER;
});

export const jobsSchema = (env: Env) =>
	z
		.strictObject({
			/** Of one file. */
			file_bytes: positiveCount.default(DEFAULT_FILE_BYTES),
			/** Files of each account. */
			max_files: positiveCount.default(DEFAULT_FILES),
			/** Batches of each account that have not ended. */
			max_batches: positiveCount.default(DEFAULT_BATCHES),
			/** Replays of each account, also those that have ended. */
			max_replays: positiveCount.default(DEFAULT_REPLAYS),
			/** The part of the price that accounts pay for a line. */
			discount: discount.default(DEFAULT_DISCOUNT),
			/** Lines that run at the same time at one backend, for each process. */
			concurrency: concurrency.default(DEFAULT_CONCURRENCY),
			/** By the name of a backend. */
			backends: z.record(z.string(), BackendEntry).default({}),
			adapters: AdaptersEntry.prefault({}),
			/** When lines start, in UTC. `to` may be on the next day. */
			hours: z.strictObject({ from: Time, to: Time }).optional(),
			/** Receivers of the events of batches, by account. `*`: of all others. */
			webhooks: z
				.record(z.string(), z.strictObject({ url: webhookUrl, secret: webhookSecret(env) }))
				.default({}),
		})
		.transform(({ adapters, file_bytes, max_batches, max_files, max_replays, hours, ...set }): JobsConfig => {
			const others: BackendJobs = { discount: set.discount, concurrency: set.concurrency };
			const own = ({ discount: part, concurrency: lines }: z.output<typeof BackendEntry>): BackendJobs => ({
				discount: part ?? others.discount,
				concurrency: lines ?? others.concurrency,
			});
			const backends = new Map(Object.entries(set.backends).map(([name, entry]) => [name, own(entry)]));
			return {
				bounds: {
					...{ fileBytes: file_bytes, maxBatches: max_batches, maxFiles: max_files, maxReplays: max_replays },
					adapters: {
						maxAdapters: adapters.max,
						fileBytes: adapters.file_bytes,
						maxRank: adapters.max_rank,
					},
				},
				settings: {
					backends,
					others,
					...(hours && { hours }),
					webhooks: new Map(Object.entries(set.webhooks)),
				},
			};
		});

export interface JobsConfig {
	bounds: JobBounds;
	settings: JobSettings;
}
