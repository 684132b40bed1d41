/** The rows of an account's requests, the records that are made of them, and settlements in the form in which they are booked. */
import {
	type EarlierOutcome,
	type EngineCall,
	type LeasedRequest,
	NOTHING_USED,
	type Outcome,
	presentOutcome,
	type Settlement,
} from "../admission.ts";

/** Separates rate keys, which do not contain it. */
const KEY_SEPARATOR = "\n";

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
	/** When the operator forgave the charge of a lease. */
	forgivenAt?: number;
}

export interface OpenRow extends Omit<OpenRequest, "rateKeys"> {
	rateKeys: string;
}

export interface LedgerRow
	extends OpenRow,
		Partial<Omit<Settlement, "ticket" | "outcome" | "estimated" | "calls">> {
	settledAt?: number;
	outcome?: Outcome | EarlierOutcome;
	estimated?: number;
	forgivenAt?: number;
	/** JSON */
	calls?: string;
}

/** The columns that an admission writes. */
export const OPEN_COLUMNS = {
	id: "INTEGER",
	ticket: "TEXT NOT NULL",
	admittedAt: "INTEGER NOT NULL",
	expiresAt: "INTEGER NOT NULL",
	model: "TEXT NOT NULL",
	task: "TEXT NOT NULL",
	token: "TEXT NOT NULL",
	rateKeys: "TEXT NOT NULL",
	reserved: "INTEGER NOT NULL",
} satisfies Record<keyof OpenRow, string>;

/** The columns that are empty while the request is open. */
export const SETTLED_COLUMNS = {
	outcome: "TEXT",
	settledAt: "INTEGER",
	microNeurons: "INTEGER",
	inputTokens: "INTEGER",
	cachedTokens: "INTEGER",
	outputTokens: "INTEGER",
	estimated: "INTEGER",
	backend: "TEXT",
	attempts: "INTEGER",
	latencyMs: "INTEGER",
	firstTokenMs: "INTEGER",
	code: "INTEGER",
	forgivenAt: "INTEGER",
	calls: "TEXT",
} satisfies Record<Exclude<keyof LedgerRow, keyof OpenRow>, string>;

export const rateKeys = (text: string): string[] => (text === "" ? [] : text.split(KEY_SEPARATOR));

export const rateKeysText = (keys: readonly string[]): string => keys.join(KEY_SEPARATOR);

export const openRequest = (row: OpenRow): OpenRequest => ({ ...row, rateKeys: rateKeys(row.rateKeys) });

export function requestRecord(row: Omit<LedgerRow, "expiresAt"> & Partial<LedgerRow>): RequestRecord {
	const {
		id: _,
		expiresAt: _expiry,
		rateKeys: _keys,
		reserved,
		outcome,
		estimated,
		latencyMs,
		calls,
		...fields
	} = row;
	return {
		...NOTHING_USED,
		...fields,
		outcome: outcome === undefined ? "open" : presentOutcome(outcome),
		estimated: estimated === 1,
		...(calls !== undefined && { calls: JSON.parse(calls) as EngineCall[] }),
		...(latencyMs !== undefined && outcome !== "expired" && { latencyMs }),
		reservedMicroNeurons: reserved,
	};
}

/** The settlement of an expired request: its reservation is charged. */
export const expiredSettlement = ({ ticket, reserved }: OpenRequest): Settlement => ({
	...NOTHING_USED,
	ticket,
	outcome: "expired",
	microNeurons: reserved,
	estimated: true,
	latencyMs: 0,
});

/**
 * Replaces invalid numbers, because one of them would fail the transaction of its batch every time. An invalid cost becomes the
 * reservation, an invalid count 0.
 */
export function validSettlement(settlement: Settlement, { reserved }: OpenRequest): Settlement {
	const { outcome, microNeurons } = settlement;
	if (isValid(settlement)) return settlement;
	return {
		...settlement,
		microNeurons: outcome === "failed" ? 0 : isCount(microNeurons) ? microNeurons : reserved,
		inputTokens: countOf(settlement.inputTokens),
		cachedTokens: countOf(settlement.cachedTokens),
		outputTokens: countOf(settlement.outputTokens),
		attempts: countOf(settlement.attempts),
		latencyMs: countOf(Math.round(settlement.latencyMs)),
		...(settlement.firstTokenMs !== undefined && {
			firstTokenMs: countOf(Math.round(settlement.firstTokenMs)),
		}),
	};
}

/** Most settlements are, and need no copy. */
const isValid = ({
	outcome,
	microNeurons,
	inputTokens,
	cachedTokens,
	outputTokens,
	attempts,
	latencyMs,
	firstTokenMs = 0,
}: Settlement): boolean =>
	isCount(microNeurons) &&
	(outcome !== "failed" || microNeurons === 0) &&
	isCount(inputTokens) &&
	isCount(cachedTokens) &&
	isCount(outputTokens) &&
	isCount(attempts) &&
	isCount(latencyMs) &&
	isCount(firstTokenMs);

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const countOf = (value: number): number => (isCount(value) ? value : 0);

/**
 * Micro-neurons that a request takes from its lease: its reservation while it is open, then its cost, at most the reservation. An
 * invalid cost counts as the reservation.
 */
export function takenFromLease({ reserved, settlement }: LeasedRequest): number {
	const { microNeurons = reserved } = settlement ?? {};
	return isCount(microNeurons) ? Math.min(reserved, microNeurons) : reserved;
}
