/** The JSON of AI Search's API. */
import { endpointJson } from "../../retrieval/search/public-endpoint.ts";
import {
	type InstanceConfig,
	type InstanceRecord,
	type InstanceStats,
	type ItemLog,
	type JobLog,
	type Page,
	publicId,
	type SearchItem,
	type SearchJob,
	type SearchNamespace,
	type StoredChunk,
	vectorIndexOf,
} from "../../retrieval/search/records.ts";
import type { InstanceCall } from "./item-operations.ts";

const time = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** The version of the product's engine that has uploads. */
const ENGINE_VERSION = 3;

export const namespaceJson = ({
	createdAt,
	description,
	endpoint,
	endpointId,
	name,
}: SearchNamespace): object => ({
	name,
	description: description ?? null,
	created_at: time(createdAt),
	public_endpoint_id: endpoint?.enabled ? endpointId : null,
	public_endpoint_params: endpoint ? endpointJson(endpoint) : null,
});

const sourceJson = ({ origin }: Pick<InstanceConfig, "origin">): object =>
	origin ? { ...origin } : { type: null, source: null };

/** `lastActivity`: the latest change of its items, which only its own object knows. Absent in lists and after a deletion. */
export const instanceJson = (
	{ config: { origin, ...config }, createdAt, id, modifiedAt, namespace, object }: InstanceRecord,
	lastActivity?: number,
): object => ({
	id,
	namespace,
	...sourceJson({ origin }),
	...config,
	ai_gateway_id: config.ai_gateway_id ?? null,
	public_endpoint_id: config.public_endpoint_params?.enabled ? publicId({ object }) : null,
	...(config.public_endpoint_params && {
		public_endpoint_params: endpointJson(config.public_endpoint_params),
	}),
	status: config.paused ? "paused" : "ready",
	enable: true,
	engine_version: ENGINE_VERSION,
	created_at: time(createdAt),
	modified_at: time(modifiedAt),
	last_activity: lastActivity === undefined ? null : time(lastActivity),
	// The product has ids of users here. Accounts have no users.
	created_by: null,
	modified_by: null,
});

/** Of the older API. */
export const ragJson = (record: InstanceRecord): object => ({
	id: record.id,
	enable: true,
	...sourceJson(record.config),
	vectorize_name: vectorIndexOf(record, record.indexVersion),
	paused: record.config.paused,
	status: record.config.paused ? "paused" : "ready",
});

export const statsJson = (
	{ chunks, counts, errors, fileBytes, lastActivity, metadataBytes }: InstanceStats,
	vectors: { count: number; dimensions: number },
): object => ({
	...counts,
	...(lastActivity !== undefined && { last_activity: time(lastActivity) }),
	engine: {
		vectorize: { vectorsCount: vectors.count, dimensions: vectors.dimensions },
		r2: {
			payloadSizeBytes: fileBytes,
			metadataSizeBytes: metadataBytes,
			objectCount: Object.values(counts).reduce((sum, count) => sum + count, 0),
		},
	},
	chunks_count: chunks,
	file_embed_errors: errors,
	index_source_errors: {},
});

export const itemJson = (item: SearchItem, { instance }: Pick<InstanceCall, "instance">): object => ({
	id: item.id,
	key: item.key,
	status: item.status,
	next_action: item.status === "queued" ? "INDEX" : null,
	...(item.error !== undefined && { error: item.error }),
	checksum: item.checksum,
	namespace: instance.record.namespace,
	chunks_count: item.chunks,
	file_size: item.bytes,
	source_id: item.source ?? "builtin",
	created_at: time(item.createdAt),
	last_seen_at: time(item.seenAt),
	metadata: {
		filename: item.key,
		folder: String(item.indexed.folder),
		timestamp: item.modifiedAt,
		...item.metadata,
	},
});

export const itemLogJson = ({ timestamp, ...log }: ItemLog): object => ({
	timestamp: time(timestamp),
	...log,
});

export const chunkJson = (
	{ end, id, start, text }: StoredChunk,
	item: Pick<SearchItem, "key" | "modifiedAt" | "metadata">,
): object => ({
	...{ id, text, start_byte: start, end_byte: end },
	item: { key: item.key, timestamp: item.modifiedAt, metadata: item.metadata },
});

export const jobJson = ({
	description,
	endedAt,
	endReason,
	id,
	seenAt,
	source,
	startedAt,
}: SearchJob): object => ({
	...{ id, source },
	...(description !== undefined && { description }),
	started_at: time(startedAt),
	last_seen_at: time(seenAt),
	...(endedAt !== undefined && { ended_at: time(endedAt) }),
	...(endReason !== undefined && { end_reason: endReason }),
});

export const jobLogJson = ({ createdAt, id, message, type }: JobLog): object => ({
	...{ id, message, message_type: type, created_at: createdAt },
});

/** The results of a page, and its `result_info`. */
export const pageJson = <Value>(
	{ total, values }: Page<Value>,
	{ page, per_page }: { page: number; per_page: number },
	json: (value: Value) => object,
): { result: object[]; result_info: object } => ({
	result: values.map((value) => json(value)),
	result_info: { count: values.length, page, per_page, total_count: total },
});
