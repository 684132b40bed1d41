/**
 * Which targets may answer for a model, in the order to ask them. Pure: chance, the session and what is known of the
 * engines come in.
 *
 * An engine whose circuit is open comes after all others, but is not left out: where nobody else is there, asking it is
 * better than not to ask.
 */

import { AiError } from "../core/errors.ts";
import type { Health } from "../fleet/health.ts";
import type { Plan, PlannedTarget, RouteSettings, Routing, WeightedTarget } from "./plan.ts";
import { DEFAULT_RETRIES } from "./plan.ts";
import type { Services } from "./services.ts";
import { drawAt, rankFor } from "./weighted-choice.ts";

export interface RouteServices {
	routing: Routing;
	catalog: Pick<Services["catalog"], "find">;
	health: Pick<Health, "standing">;
	/** 0 to 1. */
	random(): number;
}

export function route(modelId: string, services: RouteServices, session?: string): Plan {
	const { routing, catalog, health, random } = services;
	const served = routing.find(modelId);
	if (!served)
		throw new AiError("noSuchModel", `No such model ${modelId} or task: nothing serves it here (see ROUTES)`);
	const { sticky, retries = DEFAULT_RETRIES, ...settings }: RouteSettings = served.settings ?? {};
	const isKnown = catalog.find(modelId) !== undefined;
	const well: PlannedTarget[] = [];
	const resting: PlannedTarget[] = [];
	for (const { urls, weight: _, anyModel, ...shared } of drawFirst(served.targets, random, sticky && session))
		for (const url of replicas(urls, random, session)) {
			const target = { ...shared, url, ...(anyModel && !isKnown && { anyModel }) };
			const standing = health.standing(target);
			(standing === "open" ? resting : well).push({ ...target, standing });
		}
	const [first, ...rest] = resting.length === 0 ? well : [...well, ...resting];
	if (!first) throw new AiError("noSuchModel", `No such model ${modelId} or task: its route is empty`);
	return { targets: [first, ...rest], retries, ...settings };
}

/** Weighted targets share the first place by their weights; those without a weight only stand in, in order. */
function drawFirst(targets: WeightedTarget[], random: () => number, session?: string): WeightedTarget[] {
	if (targets.length < 2) return targets;
	const shares = targets.flatMap((target) => {
		const { backend, model, weight } = target;
		return weight === undefined ? [] : [{ name: `${backend} ${model}`, weight, target }];
	});
	const drawn = session === undefined ? drawAt(shares, random()) : rankFor(session, shares)[0];
	if (!drawn) return targets;
	return [drawn.target, ...targets.filter((target) => target !== drawn.target)];
}

/** The replicas of an engine: from a random one on, or in the session's own order. */
function replicas(urls: readonly string[], random: () => number, session?: string): readonly string[] {
	if (urls.length < 2) return urls;
	if (session !== undefined) {
		const named = urls.map((name) => ({ name, weight: 1 }));
		return rankFor(session, named).map(({ name }) => name);
	}
	const start = Math.floor(random() * urls.length);
	return [...urls.slice(start), ...urls.slice(0, start)];
}
