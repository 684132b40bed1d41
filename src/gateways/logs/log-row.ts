/** A request in the log of its gateway. Fields have the names of AI Gateway's API, and are the columns of the table. */

export interface LogRow {
	/** UUIDv7. Its first 48 bits are the time of the request, so rows sort by id as they sort by time. */
	id: string;
	/** Absent: the id. */
	event_id: string | null;
	provider: string;
	model: string;
	/** The task of the model. */
	model_type: string | null;
	path: string;
	/** Milliseconds until the end of the answer. */
	duration: number;
	/** Milliseconds until the first byte of the answer. */
	first_byte: number | null;
	request_type: string | null;
	request_content_type: string | null;
	response_content_type: string | null;
	status_code: number;
	success: 0 | 1;
	cached: 0 | 1;
	tokens_in: number | null;
	tokens_out: number | null;
	/** US dollars. */
	cost: number | null;
	/** The cost is the caller's: `cf-aig-custom-cost`. */
	custom_cost: 0 | 1;
	step: number;
	/** JSON of a flat object. */
	metadata: string | null;
	/** Bytes of the body. */
	request_size: number | null;
	response_size: number | null;
	user_agent: string | null;
	dlp_action: string | null;
	/** JSON of the report of data-loss prevention. */
	dlp: string | null;
	/** JSON of the evaluations of prompt and answer. */
	guardrails: string | null;
	/** The provider's key is the account's or the caller's. */
	byok: 0 | 1 | null;
	/** The gateway requires a credential. */
	authentication: 0 | 1;
	/** Billed with credits of the product. */
	wholesale: 0 | 1;
	/** The request used the OpenAI-compatible provider `compat`. */
	compatibility_mode: 0 | 1;
	feedback: number | null;
	score: number | null;
	/** The tokens are an estimate, and so is a cost that depends on them. Absent: they are not. */
	usage_estimated?: 0 | 1 | null;
	/** JSON of the response to a refused request, which has no payloads. Its size differs from `response_size` if it was shortened. */
	error?: string | null;
}

export const PAYLOAD_PARTS = ["request", "response"] as const;
export type PayloadPart = (typeof PAYLOAD_PARTS)[number];

/** The bodies of a request. Text beyond the limit (`payload.ts`) is removed, and then it is not complete. */
export type LogPayloads = Partial<Record<PayloadPart, Payload>>;

export interface Payload {
	text: string;
	complete: boolean;
}

export interface Log extends LogPayloads {
	row: LogRow;
}

/** The first part of an id at a time: all ids of that millisecond begin with it. `time`: epoch milliseconds. */
export function idPrefix(time: number): string {
	const hex = Math.max(0, Math.floor(time)).toString(16).padStart(12, "0");
	return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}

/** Epoch milliseconds. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 13).replace("-", ""), 16);
