/**
 * Leases: a slice of every limit that applies to similar requests (same credential, same model). An isolate admits requests from
 * a lease without calling the account's object, and reports them in batches. docs/accounts.md, "Leases".
 */

/**
 * How long a lease may be used without a call of the account's object. A token that is revoked or changed stops within this time.
 * Also the duration of most leases.
 */
export const LEASE_MS = 1000;

/**
 * The longest lease. A lease of more than {@link LEASE_MS} is for an isolate with many accounts, of which each has few requests: it
 * saves the calls and the commits of grants. The isolate uses it only if the credential and the limits are known to be those of a
 * second ago ({@link LeaseCheck}), and returns it if no request uses it for half of its time.
 */
export const MAX_LEASE_MS = 120_000;

/** An isolate's request for a lease. The account's object grants all of it, less, or nothing. */
export interface LeaseRequest {
	/** Chosen by the isolate, so that it can return a lease whose grant it never received. */
	id: string;
	requests: number;
	/** Micro-neurons. */
	microNeurons: number;
	/** Absent: {@link LEASE_MS}. */
	ms?: number;
}

export interface Lease {
	id: string;
	/** How many requests the isolate may admit. */
	requests: number;
	/** How much they may cost together at most. */
	microNeurons: number;
	/** Valid for so many milliseconds after the isolate requested it. */
	ms: number;
	/** A budget limits the requests. */
	isBudgeted: boolean;
	/** The token has a budget of its own. */
	limited?: true;
}
