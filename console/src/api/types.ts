/** Replies of the REST API. `GET /openapi.json` and `docs/` describe them. */

export interface Envelope<T> {
	result: T;
	success: boolean;
	errors: { code: number; message: string }[];
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
	limits?: {
		rates: { key: string; per_minute: number; used: number; room: number }[];
		budgets: Budget[];
	};
	refused: { step: string; code: number; status: number; message: string }[];
}

export interface Budget {
	key: string;
	period?: string;
	neurons: number;
	spent: number;
	reserved: number;
	room: number;
}

export interface ExplainedTarget {
	backend: string;
	kind: string;
	replica?: { number: number; of: number; host?: string };
	model: string;
	circuit: string;
	why: string;
	timeouts: { header_ms: number; first_token_ms: number; idle_ms: number; total_ms: number };
}
