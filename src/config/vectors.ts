/** `VECTORS`: where the vector indexes of accounts are, how much they can store, and when a mutation is visible. */
import * as z from "zod";
import { isLeftOut } from "../core/left-out.ts";
import type { VectorSettings } from "../retrieval/vectors/client/vector-indexes.ts";
import { BUILTIN } from "../retrieval/vectors/stores/store-settings.ts";
import { expectedName } from "../schemas/explain.ts";
import { positiveCount } from "./amounts.ts";
import type { Env } from "./headers.ts";
import { storeSetting } from "./vector-stores.ts";

const DEFAULT_BYTES = 2_000_000_000;
const DEFAULT_INDEXES = 100;
/** The product takes up to two minutes. */
const MAX_DELAY_MS = 600_000;

const StoreName = z.string().regex(/^[\w.-]{1,64}$/, {
	error: "expected a name of up to 64 letters, digits, '.', '_' and '-', found another",
});

export const vectorsSchema = (env: Env) =>
	z
		.strictObject({
			/** Of all indexes of an account, in all stores. */
			max_bytes: positiveCount.default(DEFAULT_BYTES),
			/** Of an account. */
			max_indexes: positiveCount.max(50_000).default(DEFAULT_INDEXES),
			/** Of new indexes: milliseconds until a mutation is visible. */
			delay_ms: z.int().min(0).max(MAX_DELAY_MS).default(0),
			/** US dollars. The product has 0.01 and 0.05. */
			prices: z
				.strictObject({
					million_queried_dimensions: z.number().min(0).default(0),
					/** A month. */
					hundred_million_stored_dimensions: z.number().min(0).default(0),
				})
				.prefault({}),
			stores: z.record(StoreName, storeSetting(env)).default({}),
			/** The store of a new index, by its name or a pattern with `*`. */
			indexes: z.record(z.string().min(1), z.string()).default({}),
			/** Of the other new indexes. */
			default_store: z.string().default(BUILTIN),
		})
		.superRefine(({ default_store, indexes, stores }, context) => {
			const names = [BUILTIN, ...Object.keys(stores)];
			const refuse = (path: string[], message: string) => context.addIssue({ code: "custom", path, message });
			if (Object.hasOwn(stores, BUILTIN))
				refuse(["stores", BUILTIN], `expected another name: "${BUILTIN}" is the store in this gateway`);
			for (const [name, { kind }] of Object.entries(stores))
				if (isLeftOut(kind))
					refuse(
						["stores", name],
						`this build has no vector stores of kind "${kind}": remove the kind from --without in "build.command", and deploy again (docs/configuration.md)`,
					);
			for (const [pattern, store] of Object.entries(indexes))
				if (!names.includes(store)) refuse(["indexes", pattern], expectedName(names, store));
			if (!names.includes(default_store)) refuse(["default_store"], expectedName(names, default_store));
		})
		.transform(
			({ default_store, delay_ms, indexes, max_bytes, max_indexes, prices, stores }): VectorSettings => ({
				delayMs: delay_ms,
				maxBytes: max_bytes,
				maxIndexes: max_indexes,
				prices: {
					millionQueriedDimensions: prices.million_queried_dimensions,
					hundredMillionStoredDimensions: prices.hundred_million_stored_dimensions,
				},
				placement: {
					stores: new Map(Object.entries(stores)),
					patterns: Object.entries(indexes),
					defaultStore: default_store,
				},
			}),
		);
