/** Which targets may answer for a model, in the order to ask them. Pure: chance comes in. */
import type { Target } from "../backends/backend.ts";
import { AiError } from "../errors.ts";
import type { Plan, Routing, WeightedTarget } from "../request.ts";

export interface RouteServices {
	routing: Routing;
	/** 0 to 1. */
	random(): number;
}

export function route(modelId: string, { routing, random }: RouteServices): Plan {
	const served = routing.find(modelId);
	if (!served)
		throw new AiError("noSuchModel", `No such model ${modelId} or task: nothing serves it here (see ROUTES)`);
	const [first, ...rest] = drawFirst(served.targets, random).flatMap((target) => replicas(target, random));
	if (!first) throw new AiError("noSuchModel", `No such model ${modelId} or task: its route is empty`);
	return [first, ...rest];
}

/** Weighted targets share the first place by their weights; those without a weight only stand in, in order. */
function drawFirst(targets: WeightedTarget[], random: () => number): WeightedTarget[] {
	let total = 0;
	const upTo = targets.map(({ weight = 0 }) => (total += weight));
	const at = random() * total;
	const drawn = targets.find((_, i) => at < (upTo[i] ?? 0));
	return drawn ? [drawn, ...targets.filter((target) => target !== drawn)] : targets;
}

/** One target for each replica of an engine, from a random one on. */
function replicas({ urls, weight: _, ...target }: WeightedTarget, random: () => number): Target[] {
	const start = Math.floor(random() * urls.length);
	return [...urls.slice(start), ...urls.slice(0, start)].map((url) => ({ ...target, url }));
}
