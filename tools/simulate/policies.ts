/** Policies for comparison, which the gateway does not offer. */
import { expect, POLICIES, POLICY, type Policy, type ReplicaChoice } from "../../src/pools/choice.ts";

/** The shortest expected time of all replicas, each compared. */
const scan: Policy = (pool, request, usable) => {
	let best: ReplicaChoice | undefined;
	for (const replica of pool.members) {
		if (!usable(replica)) continue;
		const choice = expect(pool, request, replica);
		if (!best || choice.expectedMs < best.expectedMs) best = choice;
	}
	return best;
};

/** A session's replica, whatever its load is. */
const sessionHash: Policy = (pool, request, usable) => {
	for (const replica of pool.ring.from(request.session ?? ""))
		if (usable(replica)) return expect(pool, request, replica);
	return undefined;
};

const leastRequests: Policy = (pool, request, usable) => {
	const [first, ...others] = pool.members.filter(usable);
	if (!first) return undefined;
	const least = others.reduce((best, one) => (one.requests < best.requests ? one : best), first);
	return expect(pool, request, least);
};

export const SIMULATED: Readonly<Record<string, Policy>> = {
	...Object.fromEntries(POLICIES.map((name) => [name, POLICY[name]])),
	"all-compared": scan,
	"least-requests": leastRequests,
	"session-hash": sessionHash,
};
