/**
 * Fields of a request that a pool adds for its engines: `cache_salt`, so that no account can find out by the time of an answer
 * whether another account has sent a prompt (vLLM, SGLang), and `priority` (settings `cache_salt` and `priority` of the pool).
 */
import type { Priority } from "../pools/fair-queue.ts";
import type { PoolSettings } from "../pools/pool-settings.ts";
import { isPooled, type Plan, type PlanTarget } from "./plan.ts";

interface Sender {
	account: string;
	priority: Priority;
}

/** Returns nothing if no pool of the plan adds fields. */
export function withEngineFields(plan: Plan, sender: Sender): Promise<Plan> | undefined {
	const adds = plan.targets.some((target) => isPooled(target) && addsFields(target.pool.settings));
	return adds ? extended(plan, sender) : undefined;
}

const addsFields = ({ cacheSalt, priority }: PoolSettings): boolean =>
	cacheSalt === true || priority !== undefined;

async function extended(plan: Plan, sender: Sender): Promise<Plan> {
	const [first, ...others] = plan.targets;
	const extend = async (target: PlanTarget): Promise<PlanTarget> =>
		isPooled(target)
			? { ...target, requestFields: await fieldsOf(target.backend, target.pool.settings, sender) }
			: target;
	return { ...plan, targets: [await extend(first), ...(await Promise.all(others.map(extend)))] };
}

async function fieldsOf(
	backend: string,
	{ cacheSalt, priority }: PoolSettings,
	{ account, priority: requested }: Sender,
): Promise<Record<string, unknown>> {
	const value = priority?.[requested];
	return {
		...(cacheSalt && { cache_salt: await saltOf(`${backend} ${account}`) }),
		...(value !== undefined && { priority: value }),
	};
}

/** No caller can send the field, so the salt need not be secret. The hash keeps the account's name out of the engine's logs. */
async function saltOf(text: string): Promise<string> {
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`cache_salt ${text}`));
	return new Uint8Array(digest, 0, 16).toHex();
}
