/** How much an isolate uses the leases of an account, and how often it calls the account's object. */
import type { Admission } from "../admission.ts";
import { gatewayKey } from "../bound-gateway.ts";
import { maxCost } from "../durable/budgets.ts";
import { LEASE_MS, type Lease, MAX_LEASE_MS } from "../lease.ts";
import { beginPeriod, type LeaseUse } from "./lease-use.ts";

const SECOND_MS = 1000;

/** How often a journal calls the object. */
export interface JournalPace {
	/** Time between two batches. A batch is one commit of the object. */
	flushAfterMs: number;
	/** How long the leases to request are valid. */
	leaseMs: number;
	/** Batches leave at multiples of this time, so that those of the accounts of a shard share a commit. */
	gridMs?: number;
}

const MIN_FLUSH_MS = 250;
/** Time between the batches of two accounts. Each is a commit, which may stop all requests of the process for milliseconds. */
const BETWEEN_BATCHES_MS = 40;

/** `objects`: the number of objects to which journals of this isolate report. A lease outlasts two batches, so that a batch renews it in time. */
export function journalPace(objects: number, { inShard = false } = {}): JournalPace {
	const flushAfterMs = Math.min(Math.max(MIN_FLUSH_MS, objects * BETWEEN_BATCHES_MS), MAX_LEASE_MS / 2);
	const leaseMs = Math.max(LEASE_MS, 2 * flushAfterMs);
	return { flushAfterMs, leaseMs, ...(inShard && { gridMs: MIN_FLUSH_MS }) };
}

/** The wait until a batch leaves. */
export const waitOf = (wait: number, now: number, { gridMs }: JournalPace): number =>
	gridMs === undefined ? wait : Math.round((now + wait) / gridMs) * gridMs - now;

export interface UsableLease extends Lease {
	/** When the isolate requested it. */
	requestedAt: number;
}

/** Similar requests: the same credential, the same gateway and the same model. */
export interface RequestClass {
	/** The latest one, as an example for the object. */
	latest: Admission;
	leases: UsableLease[];
	/** When the object was called that last accepted the credential and the limits of the leases. */
	checkedAt: number;
	/** Requests of the current period ({@link periodOf}) and of the one before. */
	current: number;
	previous: number;
	since: number;
	/** Admitted from leases since the last batch. */
	sinceBatch: number;
	/** What they take from the leases. */
	use: LeaseUse;
	/** Time of the last request. */
	usedAt: number;
	/** The request for a lease that is under way. */
	pendingLease?: { id: string; at: number } | undefined;
}

export const newClass = (latest: Admission, now: number): RequestClass => ({
	latest,
	leases: [],
	checkedAt: Number.NEGATIVE_INFINITY,
	...{ current: 0, previous: 0, since: now, sinceBatch: 0, usedAt: now },
	use: { reserved: 0, peak: 0, previousPeak: 0 },
});

/** A second, or the time between two batches if that is longer. */
export const periodOf = ({ flushAfterMs }: JournalPace): number => Math.max(SECOND_MS, flushAfterMs);

/** Counts a request in the demand of its class. */
export function countDemand(
	requestClass: RequestClass,
	admission: Admission,
	now: number,
	pace: JournalPace,
): void {
	const period = periodOf(pace);
	const age = now - requestClass.since;
	if (age >= period) {
		const isNext = age < 2 * period;
		requestClass.previous = isNext ? requestClass.current : 0;
		requestClass.current = 0;
		beginPeriod(requestClass.use, isNext);
		requestClass.since = now;
	}
	requestClass.current++;
	requestClass.usedAt = now;
	requestClass.latest = admission;
}

/** Whether the lease has room at this time for a request of this cost, in micro-neurons. */
export const hasRoom = (
	{ requestedAt, ms, requests, microNeurons }: UsableLease,
	cost: number,
	time: number,
): boolean => time < requestedAt + ms && requests > 0 && microNeurons >= cost;

/** Removes the leases that do not pay for a request, have expired, or were not used for half of their time. Returns their ids. */
export function takeUnused(requestClass: RequestClass, now: number): string[] {
	const { latest, leases, usedAt } = requestClass;
	const most = maxCost(latest.cost);
	const unused: string[] = [];
	requestClass.leases = [];
	for (const lease of leases) {
		const isUsed = lease.ms <= LEASE_MS || now < usedAt + lease.ms / 2;
		if (isUsed && hasRoom(lease, most, now)) requestClass.leases.push(lease);
		else unused.push(lease.id);
	}
	return unused;
}

/** A lease with room for a request of this cost. */
export const leaseFor = ({ leases }: RequestClass, cost: number, now: number): UsableLease | undefined =>
	leases.find((lease) => hasRoom(lease, cost, now));

/**
 * Whether the credential and the limits are known to be those of a second ago. A long lease is used only then. `changedAt`: when an answer
 * named the account as changed; `confirmedAt`: until when all changes are known.
 */
export const isChecked = (
	{ checkedAt }: RequestClass,
	now: number,
	changedAt: number,
	owner: { confirmedAt(): number },
): boolean => now < checkedAt + LEASE_MS || (checkedAt > changedAt && now < owner.confirmedAt() + LEASE_MS);

export const classKey = ({ credential, model }: Pick<Admission, "credential" | "model">): string =>
	`${credential.kind === "token" ? credential.hash : ""}\n${gatewayKey(credential)}\n${model}`;
