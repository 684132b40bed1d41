/** `RESPONSES`: how long stored responses are kept, and how much an account can store. */
import * as z from "zod";
import type { StoreBounds } from "../responses/records.ts";
import { positiveCount } from "./amounts.ts";

const DAY_MS = 24 * 60 * 60_000;
/** As in OpenAI's API. */
const DEFAULT_RETENTION_DAYS = 30;
/** Ten years. */
const MAX_RETENTION_DAYS = 3_650;
/** The object of an account has at most 10 GB. */
const MAX_BYTES = 9_000_000_000;
const DEFAULT_BYTES = 2_000_000_000;
const DEFAULT_RESPONSES = 1_000_000;

export const ResponsesSchema = z
	.strictObject({
		retention_days: z.number().positive().max(MAX_RETENTION_DAYS).default(DEFAULT_RETENTION_DAYS),
		/** Of each account. */
		max_bytes: positiveCount.max(MAX_BYTES).default(DEFAULT_BYTES),
		/** Responses and conversations of each account. */
		max_responses: positiveCount.default(DEFAULT_RESPONSES),
	})
	.transform(
		({ retention_days, max_bytes, max_responses }): StoreBounds => ({
			retentionMs: retention_days * DAY_MS,
			maxBytes: max_bytes,
			maxResponses: max_responses,
		}),
	);
