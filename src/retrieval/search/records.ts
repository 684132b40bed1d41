/** The data of AI Search, as it crosses RPC. Times: epoch milliseconds. */
import type { Caller } from "../../pipeline/request.ts";
import type { FilterCondition } from "../vectors/records.ts";
import type { CacheThreshold } from "./cache/shingles.ts";
import type { NamespaceEndpoint, PublicEndpoint } from "./public-endpoint.ts";
import type { SourceConfig, SourceSettings } from "./sources/source-config.ts";

/** `AI_SEARCH` */
export interface SearchSettings {
	/** Bytes of the texts of all instances of an account on the disk. */
	maxBytes: number;
	/** Instances of an account. */
	maxInstances: number;
	sources: SourceSettings;
}

export const DEFAULT_NAMESPACE = "default";

export interface SearchNamespace {
	name: string;
	description?: string;
	createdAt: number;
	endpoint?: NamespaceEndpoint;
	/** Of the endpoint. It stays while the endpoint is off. */
	endpointId?: string;
	publisher?: Publisher;
}

/** Who has switched a public endpoint on. Its requests run as those of this caller. */
export type Publisher = Pick<Caller, "account" | "credential">;

export const FIELD_TYPES = ["text", "number", "boolean", "datetime"] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export interface CustomField {
	/** Lower case. */
	field_name: string;
	data_type: FieldType;
}

export const BOOST_DIRECTIONS = ["asc", "desc", "exists", "not_exists"] as const;
export interface Boost {
	field: string;
	direction?: (typeof BOOST_DIRECTIONS)[number] | undefined;
}

/** The configuration of an instance, with the names of the product. */
export interface InstanceConfig {
	embedding_model: string;
	ai_search_model: string;
	ai_gateway_id?: string | undefined;
	rewrite_query: boolean;
	rewrite_model: string;
	reranking: boolean;
	reranking_model: string;
	index_method: { vector: boolean; keyword: boolean };
	fusion_method: "rrf" | "max";
	indexing_options: { keyword_tokenizer: "porter" | "trigram" };
	retrieval_options: { keyword_match_mode: "and" | "or"; boost_by: Boost[] };
	chunk: boolean;
	/** Tokens. */
	chunk_size: number;
	/** Percent. */
	chunk_overlap: number;
	max_num_results: number;
	score_threshold: number;
	custom_metadata: CustomField[];
	/** Chats are answered from earlier answers to similar questions. */
	cache: boolean;
	cache_threshold: CacheThreshold;
	/** Seconds. */
	cache_ttl: number;
	metadata: Record<string, unknown>;
	paused: boolean;
	/** Absent: there is none. */
	public_endpoint_params?: PublicEndpoint | undefined;
	/** Absent: the instance has uploads only. */
	origin?: SourceConfig | undefined;
	/** Seconds between two scheduled jobs of a source. */
	sync_interval: number;
}

export interface InstanceRecord {
	namespace: string;
	id: string;
	/** The name of its object: the account and a UUID. An instance that is created again has another one. */
	object: string;
	config: InstanceConfig;
	/** Changes with what makes all vectors invalid. Each version has a vector index of its own. */
	indexVersion: number;
	createdAt: number;
	modifiedAt: number;
	/** Who has set the source. Its items are embedded as requests of this caller. */
	owner?: Pick<Caller, "account" | "credential">;
	publisher?: Publisher;
}

export const ITEM_STATUSES = ["queued", "running", "completed", "error", "skipped", "outdated"] as const;
export type ItemStatus = (typeof ITEM_STATUSES)[number];

/** Its job was cancelled before its run: `skipped` was never indexed, `outdated` is found as it was before. */
export const isCancelled = (item: Pick<SearchItem, "status"> | undefined): boolean =>
	item?.status === "skipped" || item?.status === "outdated";

/** Values of the metadata by which items are filtered and boosted. */
export type IndexedMetadata = Record<string, string | number | boolean>;

export interface NewItem {
	key: string;
	/** The name of its stored object. */
	content: string;
	contentType: string;
	bytes: number;
	/** SHA-256 of the bytes, hexadecimal. */
	checksum: string;
	/** As it was sent. */
	metadata: Record<string, unknown>;
	indexed: IndexedMetadata;
	caller: Pick<Caller, "account" | "credential">;
	/** The `source_id`. Absent: an upload. */
	source?: string;
	/** The name by which the file is converted. Absent: the key. */
	fileName?: string;
}

export interface SearchItem extends Omit<NewItem, "caller"> {
	id: string;
	status: ItemStatus;
	/** Each change of the bytes, and each order to index the item again, has the next one. */
	revision: number;
	error?: string;
	chunks: number | null;
	createdAt: number;
	seenAt: number;
	modifiedAt: number;
}

/** What a run of an item needs. */
export type ItemRun = { item: SearchItem; caller: NewItem["caller"] };

export interface ItemQuery {
	page: number;
	perPage: number;
	status?: ItemStatus | undefined;
	search?: string | undefined;
	/** A `source_id`. */
	source?: string | undefined;
	key?: string | undefined;
	id?: string | undefined;
	sortBy?: "status" | "modified_at" | undefined;
	filter?: readonly FilterCondition[] | undefined;
}

export interface Page<Value> {
	values: Value[];
	total: number;
}

/** A part of an item. `start` and `end`: bytes of the item's Markdown. */
export interface TextChunk {
	text: string;
	start: number;
	end: number;
}

/** `id`: also that of its vector. */
export interface StoredChunk extends TextChunk {
	id: string;
	item: string;
	seq: number;
}

/** Vectors that were planned for a revision of an item. Those that are not of the current one are deleted. */
export interface VectorPlan {
	item: string;
	revision: number;
	indexVersion: number;
	chunks: number;
}

/** A word of a query. A text has it if it has one of these. */
export interface KeywordWord {
	phrases: readonly string[];
	/** Of terms of the index. */
	beginnings: readonly string[];
}

export interface KeywordQuery {
	words: readonly KeywordWord[];
	mode: InstanceConfig["retrieval_options"]["keyword_match_mode"];
	filter: readonly FilterCondition[];
	limit: number;
}

/** The best match is the first. `score`: BM25, larger is better. */
export interface KeywordMatch {
	id: string;
	score: number;
}

/** A chunk with its item, for an answer. `indexed`: the values for boosts. */
export interface FoundChunk extends StoredChunk {
	key: string;
	timestamp: number;
	metadata: Record<string, unknown>;
	indexed: IndexedMetadata;
}

export interface ItemLog {
	timestamp: number;
	action: string;
	message: string;
	chunkCount?: number;
	processingTimeMs?: number;
	errorType?: string;
}

export interface SearchJob {
	id: string;
	source: "user" | "schedule";
	description?: string;
	startedAt: number;
	endedAt?: number;
	seenAt: number;
	endReason?: string;
	/** The source is being read: the job does not end with its last item. */
	isReading?: boolean;
}

export interface JobLog {
	id: number;
	message: string;
	/** 0: information, 1: an error. */
	type: number;
	createdAt: number;
}

export interface InstanceStats {
	counts: Record<ItemStatus, number>;
	chunks: number;
	/** Of the uploaded files. */
	fileBytes: number;
	metadataBytes: number;
	lastActivity?: number;
	/** Numbers of items, by their error. */
	errors: Record<string, number>;
}

export interface SearchUsage {
	instances: number;
	items: number;
	chunks: number;
	/** Texts on the disk. */
	bytes: number;
}

export interface InstanceSize {
	bytes: number;
	items: number;
	chunks: number;
}

export const chunkId = (item: string, revision: number, seq: number): string => `${item}.${revision}.${seq}`;

/** What the end of an item's run returns. */
export interface CompletedRun {
	/** Of the instance. */
	size: InstanceSize;
	/** Whether the item has vectors of earlier revisions. */
	hasStale: boolean;
}

/** The name of the vector index of a version. It is in the account's list of vector indexes. */
export const vectorIndexOf = ({ object }: Pick<InstanceRecord, "object">, version: number): string =>
	`ai-search-${uuidOf(object)}-${version}`;

/** The object of the instance that has named a vector index. `undefined`: the name is none of {@link vectorIndexOf}. */
export function objectOfIndex(account: string, name: string): string | undefined {
	const [, uuid] = /^ai-search-([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})-\d+$/.exec(name) ?? [];
	return uuid && `${account}/${uuid}`;
}

/** The id of the public endpoint. */
export const publicId = ({ object }: Pick<InstanceRecord, "object">): string => uuidOf(object);

const uuidOf = (object: string): string => object.slice(object.lastIndexOf("/") + 1);

/** The prefix of the stored objects of an instance. */
export const filesOf = (object: string): string => `search/${uuidOf(object)}/`;
