/** The rows of the table `requests`, and the records that are made of them. */
import { type EarlierOutcome, type Outcome, presentOutcome, type Settlement } from "../admission.ts";

/** Separates rate keys, which do not contain it. */
export const KEY_SEPARATOR = "\n";

/** A request that is admitted and not settled. */
export interface OpenRequest {
	id: number;
	ticket: string;
	admittedAt: number;
	expiresAt: number;
	model: string;
	task: string;
	/** Id of the token; empty for the operator. */
	token: string;
	rateKeys: readonly string[];
	/** Micro-neurons. */
	reserved: number;
}

/** A request in a report. Times are epoch milliseconds. */
export interface RequestRecord extends Omit<Settlement, "latencyMs" | "outcome"> {
	outcome: Outcome | "open";
	/** Absent while the request is open, and if it expired, because its duration is unknown. */
	latencyMs?: number;
	admittedAt: number;
	/** Absent while it is open. */
	settledAt?: number;
	model: string;
	task: string;
	token: string;
	reservedMicroNeurons: number;
}

export type OpenRow = {
	id: number;
	ticket: string;
	admitted_at: number;
	expires_at: number;
	model: string;
	task: string;
	token: string;
	rate_keys: string;
	reserved: number;
};

export type Row = OpenRow & {
	outcome: Outcome | EarlierOutcome | null;
	settled_at: number | null;
	micro_neurons: number | null;
	input_tokens: number | null;
	cached_tokens: number | null;
	output_tokens: number | null;
	estimated: number | null;
	backend: string | null;
	attempts: number | null;
	latency_ms: number | null;
	first_token_ms: number | null;
	code: number | null;
};

export const rateKeys = ({ rate_keys }: Pick<OpenRow, "rate_keys">): string[] =>
	rate_keys === "" ? [] : rate_keys.split(KEY_SEPARATOR);

export const openRequest = (row: OpenRow): OpenRequest => ({
	id: row.id,
	ticket: row.ticket,
	admittedAt: row.admitted_at,
	expiresAt: row.expires_at,
	model: row.model,
	task: row.task,
	token: row.token,
	rateKeys: rateKeys(row),
	reserved: row.reserved,
});

export const requestRecord = (row: Row): RequestRecord => ({
	ticket: row.ticket,
	outcome: row.outcome === null ? "open" : presentOutcome(row.outcome),
	admittedAt: row.admitted_at,
	...(row.settled_at !== null && { settledAt: row.settled_at }),
	model: row.model,
	task: row.task,
	token: row.token,
	reservedMicroNeurons: row.reserved,
	microNeurons: row.micro_neurons ?? 0,
	inputTokens: row.input_tokens ?? 0,
	cachedTokens: row.cached_tokens ?? 0,
	outputTokens: row.output_tokens ?? 0,
	estimated: row.estimated === 1,
	backend: row.backend ?? "",
	attempts: row.attempts ?? 0,
	...(row.latency_ms !== null && row.outcome !== "expired" && { latencyMs: row.latency_ms }),
	...(row.first_token_ms !== null && { firstTokenMs: row.first_token_ms }),
	...(row.code !== null && { code: row.code }),
});
