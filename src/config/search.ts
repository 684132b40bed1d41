/** `AI_SEARCH`: how much an account can store in its AI Search instances. */
import * as z from "zod";
import type { SearchSettings } from "../retrieval/search/records.ts";
import { positiveCount } from "./amounts.ts";

const DEFAULT_BYTES = 2_000_000_000;
const DEFAULT_INSTANCES = 100;
/** Of the product's paid plan. */
const MAX_INSTANCES = 5_000;

export const SearchSchema = z
	.strictObject({
		/** Texts of all instances of an account on the disk, without their files and vectors. */
		max_bytes: positiveCount.default(DEFAULT_BYTES),
		/** Of an account. */
		max_instances: positiveCount.max(MAX_INSTANCES).default(DEFAULT_INSTANCES),
	})
	.transform(
		({ max_bytes, max_instances }): SearchSettings => ({ maxBytes: max_bytes, maxInstances: max_instances }),
	);
