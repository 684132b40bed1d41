/**
 * Which targets may answer for a model, in the order to ask them. Pure: chance, the session and what is known of the
 * engines come in.
 *
 * An engine whose circuit is open comes after all others, but is not left out: where nobody else is there, asking it is
 * better than not to ask.
 */
import type { Target } from "../backends/backend.ts";
import { DEFAULT_RETRIES } from "../config/route-settings.ts";
import { AiError } from "../errors.ts";
import type { Health } from "../objects/health.ts";
import type { Plan, PlannedTarget, RouteSettings, Routing, Services, WeightedTarget } from "../request.ts";
import { drawAt, rankFor } from "./draw.ts";

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
	const known = catalog.find(modelId) !== undefined;
	const targets = known ? served.targets.map(({ anyModel: _, ...target }) => target) : served.targets;
	const ordered = drawFirst(targets, random, sticky && session)
		.flatMap((target) => replicas(target, random, session))
		.map((target): PlannedTarget => ({ ...target, standing: health.standing(target) }));
	const [first, ...rest] = [
		...ordered.filter(({ standing }) => standing !== "open"),
		...ordered.filter(({ standing }) => standing === "open"),
	];
	if (!first) throw new AiError("noSuchModel", `No such model ${modelId} or task: its route is empty`);
	return { targets: [first, ...rest], retries, ...settings };
}

/** Weighted targets share the first place by their weights; those without a weight only stand in, in order. */
function drawFirst(targets: WeightedTarget[], random: () => number, session?: string): WeightedTarget[] {
	const shares = targets.flatMap((target) => {
		const { backend, model, weight } = target;
		return weight === undefined ? [] : [{ name: `${backend} ${model}`, weight, target }];
	});
	const drawn = session === undefined ? drawAt(shares, random()) : rankFor(session, shares)[0];
	if (!drawn) return targets;
	return [drawn.target, ...targets.filter((target) => target !== drawn.target)];
}

/** One target for each replica of an engine: from a random one on, or in the session's own order. */
function replicas(
	{ urls, weight: _, ...target }: WeightedTarget,
	random: () => number,
	session?: string,
): Target[] {
	const start = session === undefined ? Math.floor(random() * urls.length) : 0;
	const ordered =
		session === undefined
			? [...urls.slice(start), ...urls.slice(0, start)]
			: rankFor(
					session,
					urls.map((name) => ({ name, weight: 1 })),
				).map(({ name }) => name);
	return ordered.map((url) => ({ ...target, url }));
}
