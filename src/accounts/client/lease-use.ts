/** What the requests of a class take from its leases. Amounts are micro-neurons. */
import { type LeasedRequest, type Settlement, takenFromLease } from "../admission.ts";

/** The weight of the latest request in the average. */
const WEIGHT = 1 / 8;

export interface LeaseUse {
	/** Reserved for requests that are open since the last batch: admitted from leases, … */
	open: number;
	/** … or by calls, because no lease had room for them. */
	called: number;
	/** The most that both were together in this period, and in the one before. */
	peak: number;
	previousPeak: number;
	/** What a request takes from its lease: a moving average. Absent before the first one. */
	meanTaken?: number;
}

export const newUse = (): LeaseUse => ({ open: 0, called: 0, peak: 0, previousPeak: 0 });

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
	use.peak = use.open + use.called;
}

export function reserve(use: LeaseUse, from: "open" | "called", reserved: number): void {
	use[from] += reserved;
	use.peak = Math.max(use.peak, use.open + use.called);
}

/** The first settlement counts. The lease has again what the request did not cost. */
export function settleUnsent({ request, lease, use }: UnsentRequest, settlement: Settlement): void {
	if (request.settlement) return;
	request.settlement = settlement;
	lease.microNeurons += request.reserved - takenFromLease(request);
	close(use, request);
}

/** A batch reports the request. Returns whether it is open: its reservation is then no part of the lease any more. */
export function reportUnsent({ request, use }: UnsentRequest): boolean {
	if (request.settlement) return false;
	close(use, request);
	return true;
}

function close(use: LeaseUse, request: LeasedRequest): void {
	const taken = takenFromLease(request);
	const { meanTaken = taken } = use;
	use.meanTaken = meanTaken + WEIGHT * (taken - meanTaken);
	use.open -= request.reserved;
}
