/**
 * Plans the targets of a request: which may answer, in the order to try them. Pure: randomness, the session and the health
 * of the engines are arguments.
 *
 * A target whose circuit is open comes last, but is not left out: trying it is better than failing without a try.
 */

import { AiError } from "../core/errors.ts";
import type { Health } from "../fleet/health.ts";
import {
	DEFAULT_RETRIES,
	type Plan,
	type PlannedTarget,
	type Routed,
	type RouteSettings,
	type WeightedTarget,
} from "./plan.ts";
import type { Services } from "./services.ts";
import { chooseAt, rankFor } from "./weighted-choice.ts";

export interface RouteServices {
	catalog: Pick<Services["catalog"], "find">;
	health: Pick<Health, "circuit">;
	/** 0 to 1. */
	random(): number;
}

export function route(
	modelId: string,
	routed: Routed | undefined,
	{ catalog, health, random }: RouteServices,
	session?: string,
): Plan {
	if (!routed)
		throw new AiError("noSuchModel", `No such model ${modelId} or task: nothing serves it here (see ROUTES)`);
	const { sticky, retries = DEFAULT_RETRIES, ...settings }: RouteSettings = routed.settings ?? {};
	const isKnown = catalog.find(modelId) !== undefined;
	const available: PlannedTarget[] = [];
	const open: PlannedTarget[] = [];
	for (const { urls, weight: _, anyModel, ...shared } of orderByWeight(
		routed.targets,
		random,
		sticky && session,
	))
		for (const url of replicas(urls, random, session)) {
			const target = { ...shared, url, ...(anyModel && !isKnown && { anyModel }) };
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

/** The replicas of an engine: starting with a random one, or in the order of the session. */
function replicas(urls: readonly string[], random: () => number, session?: string): readonly string[] {
	if (urls.length < 2) return urls;
	if (session !== undefined) {
		const named = urls.map((name) => ({ name, weight: 1 }));
		return rankFor(session, named).map(({ name }) => name);
	}
	const start = Math.floor(random() * urls.length);
	return [...urls.slice(start), ...urls.slice(0, start)];
}
