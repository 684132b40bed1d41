/**
 * A pool that was scaled to zero: the first request calls the service that starts replicas (`pool.wake`), and requests wait for the
 * first of them, or go to the next target of the route.
 */
import { hasPassed } from "../core/elapsed.ts";
import { AiError } from "../core/errors.ts";
import type { WakeSettings } from "../pools/wake-calls.ts";
import { countArrival } from "./dispatch/pool-capacity.ts";
import { isPooled, type Plan, type PlanTarget, type PooledTarget, type ResolvedRoute } from "./plan.ts";
import type { PipelineServices } from "./services.ts";

interface WakeContext {
	routed: ResolvedRoute | undefined;
	signal: AbortSignal;
	/** `false`: the request is refused if it has to wait. */
	mayWait: boolean;
	/** Milliseconds to wait for a replica. Absent: `pool.wake.wait_ms`. */
	waitMs?: number;
}

interface PoolToWake {
	first: PooledTarget;
	settings: WakeSettings;
}

/** Between two checks of the pool. */
const CHECK_MS = 500;

/** Returns nothing if the first target of the plan can be called. */
export function wakePool(
	plan: Plan,
	context: WakeContext,
	services: PipelineServices,
): Promise<Plan> | undefined {
	const [first] = plan.targets;
	if (!isPooled(first)) return undefined;
	const { wake: settings } = first.pool.settings;
	if (!settings || hasWorkingReplica(first, services)) return undefined;
	return wake(plan, { ...context, first, settings }, services);
}

/** A replica accepts requests, and its circuit is not open. */
const hasWorkingReplica = (
	{ pool, ...target }: PooledTarget,
	{ health }: Pick<PipelineServices, "health">,
): boolean => pool.replicas.members.some(({ url }) => health.circuit({ ...target, url }) !== "open");

async function wake(
	plan: Plan,
	{ first, mayWait, routed, signal, settings, waitMs = settings.waitMs }: WakeContext & PoolToWake,
	services: PipelineServices,
): Promise<Plan> {
	const { now, pools, wait } = services;
	const backend = routed?.targets.find((one) => one.backend === first.backend);
	pools.wakeCalls?.call(first.backend, settings, async () => backend && pools.refreshNow(backend));
	// The replica may need longer than the call. Requests that do not wait for it, or go to another target, read the list when they arrive.
	pools.hurryList(first.backend, CHECK_MS);
	const [, next, ...others]: readonly PlanTarget[] = plan.targets;
	if (next) {
		const remaining: Plan = { ...plan, targets: [next, ...others] };
		countArrival(remaining);
		return remaining;
	}
	const since = now();
	const limitMs = mayWait ? waitMs : 0;
	for (let at = since; !hasPassed(limitMs, since, at) && !hasWorkingReplica(first, services); at = now()) {
		await wait(Math.min(CHECK_MS, since + limitMs - at), signal).catch((error: unknown) => {
			throw signal.aborted ? new AiError("aborted") : error;
		});
		if (!backend) continue;
		await pools.refreshNow(backend);
		// Adds the replicas that the list has now.
		pools.of(backend);
	}
	if (hasWorkingReplica(first, services)) return plan;
	throw new AiError("outOfCapacity", undefined, { retryAfter: Math.ceil(settings.cooldownMs / 1_000) });
}
