/** `VECTORS`: how much an account can store in its vector indexes, and when a mutation is visible. */
import * as z from "zod";
import type { VectorSettings } from "../retrieval/vectors/client/vector-indexes.ts";
import { positiveCount } from "./amounts.ts";

const DEFAULT_BYTES = 2_000_000_000;
const DEFAULT_INDEXES = 100;
/** The product takes up to two minutes. */
const MAX_DELAY_MS = 600_000;

export const VectorsSchema = z
	.strictObject({
		/** Of all indexes of an account on the disk. */
		max_bytes: positiveCount.default(DEFAULT_BYTES),
		/** Of an account. */
		max_indexes: positiveCount.max(50_000).default(DEFAULT_INDEXES),
		/** Of new indexes: milliseconds until a mutation is visible. */
		delay_ms: z.int().min(0).max(MAX_DELAY_MS).default(0),
	})
	.transform(
		({ delay_ms, max_bytes, max_indexes }): VectorSettings => ({
			delayMs: delay_ms,
			maxBytes: max_bytes,
			maxIndexes: max_indexes,
		}),
	);
