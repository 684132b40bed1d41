/** Replies of the REST API. `GET /openapi.json` and `docs/` describe them. */

export interface Envelope<T> {
	result: T;
	success: boolean;
	errors: { code: number; message: string }[];
	messages?: { code: number; message: string }[];
	result_info?: ResultInfo;
}

export interface ResultInfo {
	count?: number;
	total_count?: number;
	cursor?: string;
	truncated?: boolean;
	totals?: UsageCounts;
}

export interface Account {
	id: string;
	name: string;
}

export interface Price {
	unit: string;
	price: number;
	currency: string;
}

export interface ModelRow {
	id: string;
	name: string;
	description: string;
	task: { id: string; name: string; description: string };
	created_at?: string;
	tags: string[];
	properties: { property_id: string; value: string | Price[] | unknown }[];
}

export interface CatalogRow extends ModelRow {
	/** A route of this gateway serves it. */
	served: boolean;
}

export interface ModelSchema {
	input: JsonSchema;
	output: JsonSchema;
}

export interface JsonSchema {
	type?: string | string[];
	title?: string;
	description?: string;
	format?: string;
	contentType?: string;
	default?: unknown;
	enum?: unknown[];
	const?: unknown;
	minimum?: number;
	maximum?: number;
	maxLength?: number;
	minLength?: number;
	required?: string[];
	properties?: Record<string, JsonSchema>;
	items?: JsonSchema;
	oneOf?: JsonSchema[];
	anyOf?: JsonSchema[];
	allOf?: JsonSchema[];
	$ref?: string;
	$defs?: Record<string, JsonSchema>;
	definitions?: Record<string, JsonSchema>;
}

export interface UsageCounts {
	requests: number;
	failed: number;
	input_tokens: number;
	cached_tokens: number;
	output_tokens: number;
	neurons: number;
	/** `null` if no request was answered. */
	average_latency_ms: number | null;
	average_time_to_first_token_ms: number | null;
}

export interface Explanation {
	alias?: string;
	model: string;
	task?: string;
	targets?: ExplainedTarget[];
	retries?: { attempts: number; base_ms: number; max_ms: number };
	hedge_ms?: number;
	total_ms?: number;
	price?: { source: string; rows: { unit: string; neurons: number }[]; note?: string };
	estimate?: { neurons: number; input_tokens: number; output_tokens: number; output_open: boolean };
	refused: { step: string; code: number; status: number; message: string }[];
}

export interface ExplainedTarget {
	backend: string;
	kind: string;
	replica?: { number: number; of: number; host?: string };
	model: string;
	/** The weights behind it. */
	weights?: string;
	circuit: string;
	why: string;
	timeouts: { header_ms: number; first_token_ms: number; idle_ms: number; total_ms: number };
}

/** `usage` of an answer of a model. */
export interface ResponseUsage {
	prompt_tokens?: number;
	completion_tokens?: number;
	neurons?: number;
}

export type ContentPart = { type: "text"; text: string } | { type: "image_url"; image_url: { url: string } };

export interface ToolCall {
	id: string;
	type: "function";
	function: { name: string; arguments: string };
}

export interface ChatMessage {
	role: "system" | "user" | "assistant" | "tool";
	content: string | ContentPart[];
	tool_calls?: ToolCall[];
	tool_call_id?: string;
}

export interface ChatRequest {
	model: string;
	messages: ChatMessage[];
	stream?: boolean;
	stream_options?: { include_usage: boolean };
	max_tokens?: number;
	temperature?: number;
	tools?: unknown;
	response_format?: { type: "json_schema"; json_schema: { name: string; schema: unknown } };
	/** Of a chat of AI Search. */
	ai_search_options?: { retrieval: { retrieval_type: string; keyword_match_mode: string } };
}

/** A piece of a streamed chat, or the complete answer in `message`. */
export interface ChatChunk {
	choices?: { delta?: ChatDelta; message?: ChatDelta; finish_reason?: string | null }[];
	usage?: ResponseUsage | null;
	error?: { message: string };
}

export interface ChatDelta {
	content?: string | null;
	reasoning_content?: string | null;
	reasoning?: string | null;
	tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[] | null;
}

export type Dimension = "day" | "model" | "task" | "token" | "backend";

/** A row of `usage/vectors`, by index. */
export interface VectorUsageRow {
	index: string;
	queries: number;
	queried_dimensions: number;
	stored_dimensions: number;
	usd: number;
}

/** A row of `usage`: its dimensions are the requested ones. `null`: the operator, or no engine. */
export type UsageRow = UsageCounts & Partial<Record<Dimension, string | null>>;

export interface RefusedRow {
	day?: string;
	code?: number;
	requests: number;
}

export interface LimitsReport {
	open_requests: number;
	budgets: LimitsBudget[];
}

/** `null`: no limit. */
export interface LimitsBudget {
	key: string;
	/** Of the token. */
	name?: string;
	period: "day" | "month";
	neurons: number | null;
	spent: number;
	reserved: number;
	remaining: number | null;
}

export interface RequestRow {
	id: string;
	outcome: string;
	/** Of a failed request, with the sentence of the code. */
	code?: number;
	message?: string;
	model: string;
	task: string;
	token: string | null;
	backend: string | null;
	attempts: number;
	/** Absent if there was only one, without a failure. Times are milliseconds since the request. */
	calls?: { backend: string; started_ms: number; failed_ms?: number; code?: number }[];
	started_at: string;
	settled_at?: string;
	latency_ms: number | null;
	time_to_first_token_ms?: number;
	input_tokens: number;
	cached_tokens: number;
	output_tokens: number;
	neurons: number;
	reserved_neurons: number;
	estimated: boolean;
}

export interface PermissionGroup {
	id: string;
	name: string;
	is_selectable: boolean;
}

export interface TokenLimits {
	daily_neurons?: number;
	monthly_neurons?: number;
	requests_per_minute?: number;
}

export interface Token {
	id: string;
	name: string;
	status: "active" | "disabled" | "expired";
	issued_on: string;
	last_used_on?: string;
	expires_on?: string;
	policies: { effect: string; permission_groups: { id: string; name: string }[] }[];
	limits?: TokenLimits;
}

export interface NewToken extends Token {
	value: string;
}

export interface EnginesReport {
	routes: {
		pattern: string;
		targets: { backend: string; replicas: string[]; model?: string; weight?: number; weights?: string }[];
	}[];
	engines: {
		backend: string;
		replica: string;
		model: string;
		circuit: string;
		requests: number;
		failures: number;
		answers: number;
		latency_ms: number | null;
	}[];
}

/** Sizes in bytes. */
export interface LocalModels {
	folder: string;
	/** For all loaded models. */
	memory_bytes: number;
	disk_free_bytes: number;
	models: LocalModel[];
}

export interface LocalModel {
	name: string;
	repository: string;
	/** Absent before the first download. */
	revision?: string;
	relation: "same" | "quantised" | "sibling";
	use: string;
	size: number;
	/** While it is loaded. */
	memory: number;
	loaded_bytes: number;
	licence: string;
	/** The address of a licence that asks for acceptance. */
	licence_text?: string;
	/** Ids of the catalogue. */
	serves: string[];
	state: "missing" | "downloading" | "unloaded" | "loading" | "loaded" | "sleeping";
	progress?: { done: number; total: number; per_second: number; seconds_left?: number };
	/** Why the last command about it, or its last start, failed. */
	problem?: string;
}

export interface Replica {
	id: string;
	url: string;
	role: "both" | "prefill" | "decode";
	state: "active" | "draining" | "removed";
	circuit: string;
	/** In progress in the process that answered. `null`: it has no pool of the backend. */
	requests: number | null;
	/** `null`: the engine is not polled. */
	engine: { running: number; waiting: number; cache_usage: number | null } | null;
}

export interface Pool {
	backend: string;
	replicas: Replica[];
}

export interface FineTune {
	id: string;
	name: string;
	model: string;
	description: string;
	created_at: string;
	files: { name: string; bytes: number }[];
	rank?: number;
}

/** Of OpenAI's batch API. Times are seconds. */
export interface Batch {
	id: string;
	endpoint: string;
	model: string | null;
	status: BatchStatus;
	errors: { data: { code: string; message: string; line: number | null }[] } | null;
	output_file_id: string | null;
	error_file_id: string | null;
	created_at: number;
	expires_at: number;
	request_counts: { total: number; completed: number; failed: number };
	usage: { input_tokens: number; output_tokens: number; neurons: number; neurons_without_discount: number };
	waiting?: { message: string; until: number };
}

export type BatchStatus =
	| "validating"
	| "failed"
	| "in_progress"
	| "finalizing"
	| "completed"
	| "expired"
	| "cancelling"
	| "cancelled";

export interface SearchNamespace {
	name: string;
	description: string | null;
}

export interface SearchInstance {
	id: string;
	namespace: string;
	embedding_model: string;
	ai_search_model: string;
	rewrite_model: string;
	reranking_model: string;
	/** `null`: the gateway `default`. */
	ai_gateway_id: string | null;
	index_method: { vector: boolean; keyword: boolean };
	indexing_options: { keyword_tokenizer: "porter" | "trigram" };
	chunk_size: number;
	chunk_overlap: number;
	/** `null`: the instance has uploads only. */
	type: string | null;
	source: string | null;
	/** Seconds. */
	sync_interval: number;
	cache: boolean;
	/** `null`: there is no public endpoint. */
	public_endpoint_id: string | null;
	status: string;
	created_at: string;
}

export interface SearchJob {
	id: string;
	started_at: string;
	ended_at?: string;
	end_reason?: string;
}

export interface SearchJobLog {
	id: number;
	message: string;
	/** 0: information, 1: an error. */
	message_type: number;
}

export interface SearchStats {
	queued: number;
	running: number;
	completed: number;
	error: number;
	chunks_count: number;
	engine: {
		vectorize: { vectorsCount: number; dimensions: number };
		r2: { payloadSizeBytes: number; objectCount: number };
	};
}

export interface SearchItem {
	id: string;
	key: string;
	status: "queued" | "running" | "completed" | "error" | "skipped" | "outdated";
	/** A code of the product. The log has the sentence. */
	error?: string;
	chunks_count: number | null;
	file_size: number;
	last_seen_at: string;
}

export interface SearchItemLog {
	timestamp: string;
	action: string;
	message: string;
	errorType?: string;
}

export interface ItemChunk {
	id: string;
	text: string;
	start_byte: number;
	end_byte: number;
}

export interface FoundChunk {
	id: string;
	score: number;
	text: string;
	item: { key: string };
	scoring_details: {
		vector_score?: number;
		vector_rank?: number;
		/** BM25. */
		keyword_score?: number;
		keyword_rank?: number;
		reranking_score?: number;
		fusion_method?: "rrf" | "max";
	};
}

/** An index of Vectorize's API. */
export interface VectorIndex {
	name: string;
	description?: string;
	config: { dimensions: number; metric: "cosine" | "euclidean" | "dot-product" };
	created_on: string;
	delay_ms?: number;
	/** Absent: in the gateway. */
	store?: string;
}

export interface VectorInfo {
	vectorCount: number;
	processedUpToDatetime: string | null;
	processedUpToMutation: string | null;
}

export interface StoredVector {
	id: string;
	values: number[];
	namespace?: string;
	metadata?: Readonly<Record<string, unknown>>;
}

export interface VectorMatch extends Omit<StoredVector, "values"> {
	score: number;
	values?: number[];
}

export interface MetadataIndex {
	propertyName: string;
	indexType: string;
}
