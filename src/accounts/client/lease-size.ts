/** When an isolate requests a lease for its requests, and how large it is. */
import { isLost } from "../../core/flush-schedule.ts";
import { maxCost } from "../durable/budgets.ts";
import { LEASE_MS, type LeaseRequest } from "../lease.ts";
import { hasRoom, type JournalPace, periodOf, type RequestClass } from "./lease-demand.ts";

type LeaseSize = Pick<LeaseRequest, "requests" | "microNeurons">;

/** A lease is renewed by a batch, so it lasts for the next one and until the answer to it. */
const BATCHES = 2;

/**
 * Whether the leases may be used up before the next batch: they have less than twice the requests since the last batch (`used`), or
 * do not pay for so many requests.
 */
export function isScarce(requestClass: RequestClass, used: number, now: number, pace: JournalPace): boolean {
	const remaining = remainingIn(requestClass, now, pace);
	const maximum = used * maxCost(requestClass.latest.cost);
	const microNeurons = Math.min(maximum, expectedCost(requestClass, used));
	return remaining.requests < BATCHES * used || remaining.microNeurons < microNeurons;
}

/**
 * The next lease to request. Nothing while another call requests one for the class. Adds the id of one whose call was lost to `returned`,
 * because the call may have granted it.
 */
export function nextLeaseRequest(
	requestClass: RequestClass,
	now: number,
	pace: JournalPace,
	returned: string[],
): LeaseRequest | undefined {
	const { pendingLease } = requestClass;
	if (pendingLease && !isLost(pendingLease.at, now)) return undefined;
	if (pendingLease) returned.push(pendingLease.id);
	const id = `lease-${crypto.randomUUID()}`;
	requestClass.pendingLease = { id, at: now };
	const ms = pace.leaseMs > LEASE_MS ? pace.leaseMs : undefined;
	return { id, ...leaseSize(requestClass, now, pace), ...(ms && { ms }) };
}

/**
 * The size of the next lease. What other leases still have is subtracted, but it has at least one request.
 *
 * - Requests: those of a period, and one more.
 * - Neurons: the expected cost of the requests until the next batch but one, and one more; at most the maximum cost of its requests.
 *   A kill of the isolate charges what remains, so this is not the maximum cost of a whole period.
 */
function leaseSize(requestClass: RequestClass, now: number, pace: JournalPace): LeaseSize {
	const demand = Math.max(requestClass.current, requestClass.previous);
	const most = maxCost(requestClass.latest.cost);
	const remaining = remainingIn(requestClass, now, pace);
	const requests = Math.max(1, demand + 1 - remaining.requests);
	const expected = expectedCost(requestClass, soonOf(requestClass, now, pace) + 1) - remaining.microNeurons;
	return { requests, microNeurons: Math.min(requests * most, Math.max(most, Math.ceil(expected))) };
}

/** How many requests arrive until the next batch but one, at the rate of this period, or of the one before. */
function soonOf({ current, previous, since }: RequestClass, now: number, pace: JournalPace): number {
	const untilMs = BATCHES * pace.flushAfterMs;
	const fromThis = (current * untilMs) / Math.max(untilMs, now - since);
	return Math.ceil(Math.max(fromThis, (previous * untilMs) / Math.max(untilMs, periodOf(pace))));
}

/**
 * Micro-neurons that so many requests take from the leases: the reservations of those that are open at the same time, and of one more,
 * and for each of the others what a request takes until it is settled or reported.
 */
function expectedCost({ latest, use }: RequestClass, requests: number): number {
	const most = maxCost(latest.cost);
	const { meanTaken = most, peak, previousPeak } = use;
	const open = Math.max(peak, previousPeak) + most;
	const others = most > 0 ? Math.max(0, requests - open / most) : 0;
	return open + others * Math.min(most, meanTaken);
}

/**
 * What the leases have that last until the next batch, and pay for a request. A long lease lasts until the next request of an account
 * that has few of them.
 */
function remainingIn(
	{ latest, leases }: RequestClass,
	now: number,
	{ flushAfterMs, leaseMs }: JournalPace,
): LeaseSize {
	const most = maxCost(latest.cost);
	const until = now + Math.max(flushAfterMs, leaseMs / 2 - flushAfterMs);
	const lasting = leases.filter((lease) => hasRoom(lease, most, until));
	return {
		requests: lasting.reduce((sum, { requests }) => sum + requests, 0),
		microNeurons: lasting.reduce((sum, { microNeurons }) => sum + microNeurons, 0),
	};
}
