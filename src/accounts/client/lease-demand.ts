/** How much an isolate uses the leases of an account, and how often it calls the account's object. */
import { hasPassed } from "../../core/elapsed.ts";
import type { Admission, LeasedRequest, Settlement } from "../admission.ts";
import { gatewayKey } from "../bound-gateway.ts";
import { maxCost } from "../durable/budgets.ts";
import { takenFromLease } from "../durable/request-rows.ts";
import { LEASE_MS, type Lease, MAX_LEASE_MS } from "../lease.ts";

const SECOND_MS = 1000;
/** The weight of the latest request in {@link LeaseUse.meanTaken}. */
const WEIGHT = 1 / 8;

/** How often a journal calls the object. */
export interface JournalPace {
	/** Time between two batches. A batch is one commit of the object. */
	flushAfterMs: number;
	/** How long the leases to request are valid. */
	leaseMs: number;
	/** With many accounts, only a request that follows a similar one within this time gets a lease. */
	soonMs: number;
	/** Batches leave at multiples of this time, so that those of the accounts of a shard share a commit. */
	gridMs?: number;
}

const MIN_FLUSH_MS = 250;
const MAX_FLUSH_MS = 4_000;
/** A flush that has given up is made again after this time, or with the next request. */
export const AFTER_GIVING_UP_MS = 10_000;
/** Of leases that need no checks. Each request within half of this time needs neither a lease of its own nor a return of the one before. */
const KEPT_LEASE_MS = 4_000;
/** Time between the batches of two accounts. Each is a commit, which may stop all requests of the process for milliseconds. */
const BETWEEN_BATCHES_MS = 40;

interface PaceOptions {
	/** The account shares its object. */
	inShard?: boolean;
	/** An isolate that lives on without requests returns its leases in time. */
	longLeases?: boolean;
	/** No other isolate changes the account. */
	isOnlyProcess?: boolean;
}

/** `journals`: their number in this isolate. A lease outlasts two batches, so that a batch renews it in time. */
export function journalPace(
	journals: number,
	{ inShard, isOnlyProcess, longLeases }: PaceOptions = {},
): JournalPace {
	const flushAfterMs = Math.min(Math.max(MIN_FLUSH_MS, journals * BETWEEN_BATCHES_MS), MAX_FLUSH_MS);
	const twoBatchesMs = Math.max(LEASE_MS, 2 * flushAfterMs);
	const mayBeLong = inShard && longLeases;
	const shortMs = mayBeLong && isOnlyProcess ? KEPT_LEASE_MS : LEASE_MS;
	const manyMs = mayBeLong ? MAX_LEASE_MS : twoBatchesMs;
	const leaseMs = twoBatchesMs > LEASE_MS ? manyMs : shortMs;
	// Half of a long lease, because it is returned after half of its time without a request.
	const soonMs = mayBeLong ? leaseMs / 2 : MAX_FLUSH_MS;
	return { flushAfterMs, leaseMs, soonMs, ...(inShard && { gridMs: MIN_FLUSH_MS }) };
}

/** The wait until a batch leaves. */
export const waitOf = (wait: number, now: number, { gridMs }: Pick<JournalPace, "gridMs">): number =>
	gridMs === undefined ? wait : Math.round((now + wait) / gridMs) * gridMs - now;

export interface UsableLease extends Lease {
	/** When the isolate requested it. */
	requestedAt: number;
}

/** What the requests of a class take from its leases. Amounts are micro-neurons. */
export interface LeaseUse {
	/**
	 * Reserved since the last batch: for requests from leases that are not settled, and for those that were admitted by calls, because
	 * no lease had room for them.
	 */
	reserved: number;
	/** The most that it was in this period, and in the one before. */
	peak: number;
	previousPeak: number;
	/** What a request takes from its lease: a moving average. Absent before the first one. */
	meanTaken?: number;
}

/** A request that no batch contains yet. */
export interface UnsentRequest {
	request: LeasedRequest;
	lease: { microNeurons: number };
	use: LeaseUse;
	/** When the object charges it, if it is not settled. */
	expiresAt: number;
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
	if (hasPassed(period, requestClass.since, now)) {
		const isNext = !hasPassed(2 * period, requestClass.since, now);
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
): boolean => !hasPassed(ms, requestedAt, time) && requests > 0 && microNeurons >= cost;

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

/**
 * When {@link takeUnused} takes the first lease of any class, if no request follows. 0 if a class waits for a lease, or for the end of one
 * that is not long.
 */
export function firstUnusedAt(classes: Iterable<RequestClass>): number {
	let first = Number.POSITIVE_INFINITY;
	for (const { leases, pendingLease, usedAt } of classes) {
		if (pendingLease || leases.length === 0) return 0;
		for (const { ms, requestedAt } of leases)
			first = Math.min(first, ms > LEASE_MS ? Math.min(requestedAt + ms, usedAt + ms / 2) : 0);
	}
	return first === Number.POSITIVE_INFINITY ? 0 : first;
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
): boolean =>
	!hasPassed(LEASE_MS, checkedAt, now) ||
	(checkedAt > changedAt && !hasPassed(LEASE_MS, owner.confirmedAt(), now));

export const classKey = ({ credential, model }: Pick<Admission, "credential" | "model">): string =>
	`${credential.kind === "token" ? credential.hash : ""}\n${gatewayKey(credential)}\n${model}`;

/** `isNext`: the period follows the one before without a pause. */
function beginPeriod(use: LeaseUse, isNext: boolean): void {
	use.previousPeak = isNext ? use.peak : 0;
	use.peak = use.reserved;
}

export function reserve(use: LeaseUse, reserved: number): void {
	use.reserved += reserved;
	use.peak = Math.max(use.peak, use.reserved);
}

/** The first settlement counts. The lease has again what the request did not cost. */
export function settleUnsent({ request, lease, use }: UnsentRequest, settlement: Settlement): void {
	if (request.settlement) return;
	request.settlement = settlement;
	const taken = takenFromLease(request);
	lease.microNeurons += request.reserved - taken;
	use.reserved -= request.reserved;
	addTaken(use, taken);
}

/** A batch reports the request. Returns whether it is open: its reservation is then no part of the lease any more. */
export function reportUnsent({ request, use }: UnsentRequest): boolean {
	if (request.settlement) return false;
	addTaken(use, request.reserved);
	return true;
}

function addTaken(use: LeaseUse, taken: number): void {
	const { meanTaken = taken } = use;
	use.meanTaken = meanTaken + WEIGHT * (taken - meanTaken);
}
