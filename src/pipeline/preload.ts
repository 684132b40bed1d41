/**
 * Loads a model at the replicas of a pool before the hour in which it is usually used (`pool.preload`). A pool that was scaled to
 * zero is woken first. No account is billed.
 */
import { preloadOf } from "../backends/preload.ts";
import { type AiError, toAiError } from "../core/errors.ts";
import type { ModelDemand } from "../pools/model-demand.ts";
import { isPooled } from "./plan.ts";
import { route } from "./route.ts";
import type { PipelineServices } from "./services.ts";
import { wakePool } from "./wake-pool.ts";

/** Replicas of one pool at which a model is loaded. */
const MAX_REPLICAS = 32;

/**
 * The longest wait for a replica: until the hour begins. No caller waits, so it is longer than `pool.wake.wait_ms`.
 */
const START_MS = 300_000;

interface PreloadServices extends PipelineServices {
	/** Logs a failure for the operator. */
	log(error: AiError, requestId: string): void;
}

/** One after the other, because a replica may have to unload one model for another. Failures are logged. */
export async function preloadModels(
	demands: readonly ModelDemand[],
	services: PreloadServices,
): Promise<void> {
	for (const demand of demands)
		await preloadModel(demand, services).catch((error: unknown) => services.log(toAiError(error), ""));
}

async function preloadModel(
	{ backend, model: id, task }: ModelDemand,
	services: PreloadServices,
): Promise<void> {
	const model = services.catalog.find(id);
	const routed = services.routing.find(id);
	const target = routed?.targets.find((one) => one.backend === backend);
	const preload = target && preloadOf(target.kind, task);
	// The configuration may have changed since the demand was recorded.
	if (!model || !routed || !target?.pool?.preload || !preload) return;
	const only = { ...routed, targets: [target] };
	const signal = new AbortController().signal;
	await services.pools.refreshLists(only.targets);
	const plan = route(id, only, services);
	const waking = { routed: only, signal, mayWait: true, waitMs: START_MS };
	const woken = (await wakePool(plan, waking, services)) ?? plan;
	const [first] = woken.targets;
	if (!isPooled(first)) return;
	const { pool, ...shared } = first;
	const loads = pool.replicas.members
		.slice(0, MAX_REPLICAS)
		.map(({ url }) => preload({ target: { ...shared, url }, services, model, signal }));
	for (const result of await Promise.allSettled(loads))
		if (result.status === "rejected") services.log(toAiError(result.reason), "");
}
