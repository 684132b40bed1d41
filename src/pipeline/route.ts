/**
 * Plans the targets of a request: which may answer, in the order to try them. Randomness, the session and the health of the
 * engines are arguments. A backend with several replicas is one target, whose pool chooses a replica later.
 *
 * A target whose circuit is open comes last, but is not left out: trying it is better than failing without a try.
 */

import { AiError } from "../core/errors.ts";
import type { Health } from "../fleet/health.ts";
import {
	DEFAULT_RETRIES,
	type Plan,
	type PlanTarget,
	type Routed,
	type RouteSettings,
	type WeightedTarget,
} from "./plan.ts";
import type { Services } from "./services.ts";
import { chooseAt, rankFor } from "./weighted-choice.ts";

export interface RouteServices {
	catalog: Pick<Services["catalog"], "find">;
	health: Pick<Health, "circuit">;
	pools: Pick<Services["pools"], "of">;
	/** 0 to 1. */
	random(): number;
}

export function route(
	modelId: string,
	routed: Routed | undefined,
	{ catalog, health, pools, random }: RouteServices,
	session?: string,
): Plan {
	if (!routed)
		throw new AiError("noSuchModel", `No such model ${modelId} or task: nothing serves it here (see ROUTES)`);
	const { sticky, retries = DEFAULT_RETRIES, ...settings }: RouteSettings = routed.settings ?? {};
	const isKnown = catalog.find(modelId) !== undefined;
	const available: PlanTarget[] = [];
	const open: PlanTarget[] = [];
	for (const weighted of orderByWeight(routed.targets, random, sticky && session)) {
		const { urls, weight: _, anyModel, pool: __, ...settings } = weighted;
		const shared = { ...settings, ...(anyModel && !isKnown && { anyModel }) };
		const pool = pools.of(weighted);
		if (pool) {
			available.push({ ...shared, pool });
			continue;
		}
		const target = { ...shared, url: urls[0] };
		const circuit = health.circuit(target);
		(circuit === "open" ? open : available).push({ ...target, circuit });
	}
	const [first, ...others] = open.length === 0 ? available : [...available, ...open];
	if (!first) throw new AiError("noSuchModel", `No such model ${modelId} or task: its route is empty`);
	return { targets: [first, ...others], retries, ...settings };
}

/** Weighted targets share the first place by their weights. Targets without a weight are fallbacks, in order. */
function orderByWeight(targets: WeightedTarget[], random: () => number, session?: string): WeightedTarget[] {
	if (targets.length < 2) return targets;
	const shares = targets.flatMap((target) => {
		const { backend, model, weight } = target;
		return weight === undefined ? [] : [{ name: `${backend} ${model}`, weight, target }];
	});
	const drawn = session === undefined ? chooseAt(shares, random()) : rankFor(session, shares)[0];
	if (!drawn) return targets;
	return [drawn.target, ...targets.filter((target) => target !== drawn.target)];
}
