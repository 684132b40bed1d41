/**
 * Reads the configuration of an instance: that of a new one, and changes of one. Fields of the product without effect here (`token_id`)
 * are accepted and ignored.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { CACHE_THRESHOLD_NAMES } from "./cache/shingles.ts";
import { searchFailure } from "./failures.ts";
import { checkBoosts } from "./fusion.ts";
import { Identifier } from "./identifier.ts";
import {
	DEFAULT_CACHE_SECONDS,
	DEFAULT_CHUNK_TOKENS,
	DEFAULT_OVERLAP_PERCENT,
	DEFAULT_RESULTS,
	DEFAULT_THRESHOLD,
	MAX_BOOST_FIELD_CHARACTERS,
	MAX_BOOSTS,
	MAX_CACHE_SECONDS,
	MAX_CHUNK_TOKENS,
	MAX_CUSTOM_FIELDS,
	MAX_ID_CHARACTERS,
	MAX_OVERLAP_PERCENT,
	MAX_RESULTS,
	MIN_CACHE_SECONDS,
	MIN_CHUNK_TOKENS,
} from "./limits.ts";
import { BUILT_IN } from "./metadata.ts";
import { SentEndpoint, storedEndpoint } from "./public-endpoint.ts";
import { BOOST_DIRECTIONS, FIELD_TYPES, type InstanceConfig } from "./records.ts";
import { DEFAULT_SYNC_SECONDS, SourceFields, sourceAfter } from "./sources/source-config.ts";

const DEFAULT_EMBEDDING = "@cf/qwen/qwen3-embedding-0.6b";
const DEFAULT_GENERATION = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
export const DEFAULT_RERANKER = "@cf/baai/bge-reranker-base";

const MAX_MODEL_CHARACTERS = 256;
const MAX_FIELD_CHARACTERS = 64;

/** An empty name stands for the default. */
const Model = lazy(() => z.string().max(MAX_MODEL_CHARACTERS).nullish());

export const Boosts = lazy(() =>
	z
		.array(
			z.object({
				field: z.string().min(1).max(MAX_BOOST_FIELD_CHARACTERS),
				direction: z.enum(BOOST_DIRECTIONS).optional(),
			}),
		)
		.max(MAX_BOOSTS),
);

export const ConfigChanges = lazy(() =>
	z.object({
		...SourceFields(),
		embedding_model: Model(),
		ai_search_model: Model(),
		ai_gateway_id: z.string().max(MAX_ID_CHARACTERS).nullish(),
		rewrite_query: z.boolean().optional(),
		rewrite_model: Model(),
		reranking: z.boolean().optional(),
		reranking_model: Model(),
		hybrid_search_enabled: z.boolean().optional(),
		index_method: z
			.object({ vector: z.boolean(), keyword: z.boolean() })
			.refine(({ keyword, vector }) => vector || keyword, { error: "expected vector, keyword or both" })
			.optional(),
		fusion_method: z.enum(["rrf", "max"]).optional(),
		indexing_options: z
			.object({ keyword_tokenizer: z.enum(["porter", "trigram"]).default("porter") })
			.nullish(),
		retrieval_options: z
			.object({
				keyword_match_mode: z.enum(["and", "or"]).default("and"),
				boost_by: Boosts().default([]),
			})
			.nullish(),
		chunk: z.boolean().optional(),
		chunk_size: z.number().optional(),
		chunk_overlap: z.number().min(0).max(MAX_OVERLAP_PERCENT).optional(),
		max_num_results: z.int().min(1).max(MAX_RESULTS).optional(),
		score_threshold: z.number().min(0).max(1).optional(),
		custom_metadata: z
			.array(
				z.object({
					field_name: z
						.string()
						.toLowerCase()
						.regex(/^[a-z0-9_-]+$/)
						.max(MAX_FIELD_CHARACTERS)
						.refine((name) => !Object.hasOwn(BUILT_IN, name), { error: "the name is reserved" }),
					data_type: z.enum(FIELD_TYPES),
				}),
			)
			.max(MAX_CUSTOM_FIELDS)
			.refine((fields) => new Set(fields.map(({ field_name }) => field_name)).size === fields.length, {
				error: "two fields have the same name",
			})
			.optional(),
		public_endpoint_params: SentEndpoint().nullish(),
		cache: z.boolean().optional(),
		cache_threshold: z.enum(CACHE_THRESHOLD_NAMES).optional(),
		cache_ttl: z.int().min(MIN_CACHE_SECONDS).max(MAX_CACHE_SECONDS).optional(),
		metadata: z.record(z.string(), z.unknown()).optional(),
		paused: z.boolean().optional(),
	}),
);
export type ConfigChanges = z.output<ReturnType<typeof ConfigChanges>>;

export const NewInstance = lazy(() => z.object({ id: Identifier(), ...ConfigChanges().shape }));
export type NewInstance = z.output<ReturnType<typeof NewInstance>>;

const DEFAULTS: InstanceConfig = {
	embedding_model: DEFAULT_EMBEDDING,
	ai_search_model: DEFAULT_GENERATION,
	rewrite_query: false,
	rewrite_model: DEFAULT_GENERATION,
	reranking: false,
	reranking_model: DEFAULT_RERANKER,
	index_method: { vector: true, keyword: true },
	fusion_method: "rrf",
	indexing_options: { keyword_tokenizer: "porter" },
	retrieval_options: { keyword_match_mode: "and", boost_by: [] },
	chunk: true,
	chunk_size: DEFAULT_CHUNK_TOKENS,
	chunk_overlap: DEFAULT_OVERLAP_PERCENT,
	max_num_results: DEFAULT_RESULTS,
	score_threshold: DEFAULT_THRESHOLD,
	custom_metadata: [],
	cache: true,
	cache_threshold: "close_enough",
	cache_ttl: DEFAULT_CACHE_SECONDS,
	metadata: {},
	paused: false,
	sync_interval: DEFAULT_SYNC_SECONDS,
};

/** `before`: of the instance that is changed. Throws 7036, 7058 for a boost that its field cannot have, and those of `storedEndpoint`. */
export function configOf(changes: ConfigChanges, before: InstanceConfig = DEFAULTS): InstanceConfig {
	const {
		ai_gateway_id: gateway,
		chunk_size: size,
		hybrid_search_enabled: hybrid,
		public_endpoint_params: endpoint,
		source,
		source_params,
		type,
		...sent
	} = changes;
	if (size !== undefined && !(Number.isInteger(size) && size >= MIN_CHUNK_TOKENS && size <= MAX_CHUNK_TOKENS))
		throw searchFailure(
			"searchChunkSize",
			`expected a whole number from ${MIN_CHUNK_TOKENS} to ${MAX_CHUNK_TOKENS}`,
		);
	const { embedding_model, ai_search_model, rewrite_model, reranking_model, ...others } = sent;
	const model = (name: keyof typeof MODELS): string =>
		MODELS[name] === undefined ? before[name] : MODELS[name] || DEFAULTS[name];
	const MODELS = { embedding_model, ai_search_model, rewrite_model, reranking_model };
	const config: InstanceConfig = {
		...before,
		...definedOf(others),
		...(hybrid === false &&
			others.index_method === undefined && { index_method: { vector: true, keyword: false } }),
		...(size !== undefined && { chunk_size: size }),
		...(gateway !== undefined && { ai_gateway_id: gateway || undefined }),
		public_endpoint_params:
			endpoint === undefined
				? before.public_endpoint_params
				: endpoint
					? storedEndpoint(endpoint)
					: undefined,
		origin: sourceAfter({ source, source_params, type }, before.origin),
		embedding_model: model("embedding_model"),
		ai_search_model: model("ai_search_model"),
		rewrite_model: model("rewrite_model"),
		reranking_model: model("reranking_model"),
		indexing_options: others.indexing_options ?? before.indexing_options,
		retrieval_options: others.retrieval_options ?? before.retrieval_options,
	};
	checkBoosts(config.retrieval_options.boost_by, config.custom_metadata);
	return config;
}

const definedOf = <Fields extends object>(
	fields: Fields,
): Partial<Pick<InstanceConfig, keyof Fields & keyof InstanceConfig>> =>
	Object.fromEntries(
		Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
	) as Partial<InstanceConfig>;

/** What makes the indexed items invalid. */
export function changesIndex(before: InstanceConfig, after: InstanceConfig): boolean {
	const own = ({
		chunk,
		chunk_overlap,
		chunk_size,
		custom_metadata,
		embedding_model,
		index_method,
	}: InstanceConfig) =>
		JSON.stringify([chunk, chunk_overlap, chunk_size, custom_metadata, embedding_model, index_method]);
	return own(before) !== own(after);
}

export const changesSource = (before: InstanceConfig, after: InstanceConfig): boolean =>
	JSON.stringify(before.origin) !== JSON.stringify(after.origin);
