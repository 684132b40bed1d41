/** Which leases of an account may be used without a check, and the checks of the others. */
import type { Admission, LeaseCheck } from "../admission.ts";
import { maxCost } from "../durable/budgets.ts";
import { LEASE_MS } from "../lease.ts";
import { classKey, leaseFor, type RequestClass } from "./lease-demand.ts";

/** What is known of the changes of an account. */
export interface KnownChanges {
	/** When an answer named the account as changed. Checks that began before may be older than the change. */
	changedAt: number;
	/** Until when all changes are known. */
	confirmedAt(): number;
}

/** Whether the credential and the limits are known to be those of a second ago. A long lease is used only then. */
export const isChecked = (
	{ checkedAt }: RequestClass,
	now: number,
	{ changedAt, confirmedAt }: KnownChanges,
): boolean => now < checkedAt + LEASE_MS || (checkedAt > changedAt && now < confirmedAt() + LEASE_MS);

/** The checks after which leases can admit these requests, by the keys of their classes. */
export function checksFor(
	admissions: readonly Admission[],
	classes: ReadonlyMap<string, RequestClass>,
	now: number,
	known: KnownChanges,
): Map<string, LeaseCheck> {
	const checks = new Map<string, LeaseCheck>();
	for (const admission of admissions) {
		const key = classKey(admission);
		const requestClass = classes.get(key);
		if (!requestClass || isChecked(requestClass, now, known)) continue;
		if (!leaseFor(requestClass, maxCost(admission.cost), now)) continue;
		const leases = requestClass.leases.map(({ id }) => id);
		checks.set(key, { credential: admission.credential, leases });
	}
	return checks;
}
