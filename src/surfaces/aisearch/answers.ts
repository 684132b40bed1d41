/** Schemas of the answers of AI Search's API, for the OpenAPI document. A test calls each operation and compares. */
import * as z from "zod";
import { ITEM_STATUSES } from "../../retrieval/search/records.ts";
import { Count, enveloped, Instant, json } from "../answers.ts";

const PageInfo = z.object({ count: Count, page: Count, per_page: Count, total_count: Count });

const Namespace = z.object({
	name: z.string(),
	description: z.string().nullable(),
	created_at: Instant,
	public_endpoint_id: z.string().nullable(),
	public_endpoint_params: z.looseObject({ enabled: z.boolean() }).nullable(),
});
export const searchNamespaceAnswer = enveloped(Namespace);
export const searchNamespacesAnswer = enveloped(z.array(Namespace), PageInfo);
export const searchNamespaceDeletion = enveloped(z.object({ name: z.string() }));

const Instance = z.object({
	id: z.string(),
	namespace: z.string(),
	embedding_model: z.string(),
	ai_search_model: z.string(),
	index_method: z.object({ vector: z.boolean(), keyword: z.boolean() }),
	chunk_size: Count,
	chunk_overlap: Count,
	max_num_results: Count,
	score_threshold: Count,
	status: z.enum(["ready", "paused"]),
	created_at: Instant,
	modified_at: Instant,
	last_activity: Instant.nullable(),
	created_by: z.null(),
	modified_by: z.null(),
});
export const searchInstanceAnswer = enveloped(Instance);
export const searchInstancesAnswer = enveloped(z.array(Instance), PageInfo);
export const searchStatsAnswer = enveloped(
	z.object({
		...Object.fromEntries(ITEM_STATUSES.map((status) => [status, Count])),
		engine: z.object({
			vectorize: z.object({ vectorsCount: Count, dimensions: Count }),
			r2: z.object({ payloadSizeBytes: Count, metadataSizeBytes: Count, objectCount: Count }),
		}),
	}),
);

const SearchToken = z.object({
	id: z.string(),
	name: z.string(),
	cf_api_id: z.string(),
	enabled: z.boolean(),
	legacy: z.boolean(),
	created_at: Instant,
	modified_at: Instant,
});
export const searchTokenAnswer = enveloped(SearchToken);
export const searchTokensAnswer = enveloped(z.array(SearchToken), PageInfo);

const Metadata = z.record(z.string(), z.unknown());
const Item = z.object({
	id: z.string(),
	key: z.string(),
	status: z.enum(ITEM_STATUSES),
	next_action: z.enum(["INDEX"]).nullable(),
	error: z.string().optional(),
	checksum: z.string(),
	namespace: z.string(),
	chunks_count: Count.nullable(),
	file_size: Count,
	source_id: z.string(),
	created_at: Instant,
	last_seen_at: Instant,
	metadata: Metadata,
});
export const searchItemAnswer = enveloped(Item);
export const searchItemsAnswer = enveloped(z.array(Item), PageInfo);
export const searchItemDeletion = enveloped(z.object({ key: z.string() }));
export const searchItemLogsAnswer = enveloped(
	z.array(z.object({ timestamp: Instant, action: z.string(), message: z.string() })),
	z.object({ count: Count, per_page: Count, cursor: z.string().nullable(), truncated: z.boolean() }),
);
const ChunkItem = z.object({ key: z.string(), timestamp: Count, metadata: Metadata });
export const searchItemChunksAnswer = enveloped(
	z.array(
		z.object({ id: z.string(), text: z.string(), start_byte: Count, end_byte: Count, item: ChunkItem }),
	),
	z.object({ count: Count, total: Count, limit: Count, offset: Count }),
);

const Job = z.object({
	id: z.string(),
	source: z.enum(["user", "schedule"]),
	description: z.string().optional(),
	started_at: Instant,
	last_seen_at: Instant,
	ended_at: Instant.optional(),
	end_reason: z.string().optional(),
});
export const searchJobAnswer = enveloped(Job);
export const searchJobsAnswer = enveloped(z.array(Job), PageInfo);
export const searchJobLogsAnswer = enveloped(
	z.array(z.object({ id: Count, message: z.string(), message_type: Count, created_at: Count })),
	PageInfo,
);

const Chunk = z.object({
	id: z.string(),
	type: z.literal("text"),
	score: z.number(),
	text: z.string(),
	item: ChunkItem,
	scoring_details: z.object({
		vector_score: z.number().optional(),
		keyword_score: z.number().optional(),
		vector_rank: Count.optional(),
		keyword_rank: Count.optional(),
		reranking_score: z.number().optional(),
		fusion_method: z.enum(["rrf", "max"]).optional(),
	}),
	instance_id: z.string().optional(),
});
export const searchAnswer = enveloped(
	z.object({
		search_query: z.string(),
		chunks: z.array(Chunk),
		errors: z.array(z.object({ instance_id: z.string(), message: z.string() })).optional(),
	}),
);
export const searchChatAnswer = json(
	z.object({
		id: z.string(),
		object: z.literal("chat.completion"),
		created: Count,
		model: z.string(),
		choices: z.array(z.unknown()),
		chunks: z.array(Chunk),
	}),
);

export const ragsAnswer = enveloped(
	z.array(
		z.object({
			id: z.string(),
			enable: z.boolean(),
			vectorize_name: z.string(),
			paused: z.boolean(),
			status: z.string(),
		}),
	),
);
export const ragSearchAnswer = enveloped(
	z.object({
		object: z.literal("vector_store.search_results.page"),
		search_query: z.string(),
		data: z.array(
			z.object({
				file_id: z.string(),
				filename: z.string(),
				score: z.number(),
				attributes: Metadata,
				content: z.array(z.object({ id: z.string(), type: z.literal("text"), text: z.string() })),
			}),
		),
		has_more: z.boolean(),
		next_page: z.null(),
		response: z.string().optional(),
	}),
);
export const ragSyncAnswer = enveloped(z.object({ job_id: z.string() }));
