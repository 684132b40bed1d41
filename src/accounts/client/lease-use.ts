/** What the requests of a class take from its leases. Amounts are micro-neurons. */
import type { LeasedRequest, Settlement } from "../admission.ts";
import { takenFromLease } from "../durable/request-rows.ts";

/** The weight of the latest request in the average. */
const WEIGHT = 1 / 8;

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

/** `isNext`: the period follows the one before without a pause. */
export function beginPeriod(use: LeaseUse, isNext: boolean): void {
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
