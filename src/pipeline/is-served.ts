/** Whether a model of the catalogue can be used here. Calls no engine. */
import type { Model } from "../models/model.ts";
import type { ResolvedRoute } from "./plan.ts";
import type { PipelineServices } from "./services.ts";

export function isServed(model: Model, { routing, now }: Pick<PipelineServices, "now" | "routing">): boolean {
	const routed = routing.find(model.id);
	return routed !== undefined && !hasEnded(model, routed, now());
}

/** A model that a route names goes on: the operator serves it, whatever the product does. */
export function hasEnded(
	{ status, deprecated }: Model,
	routed: ResolvedRoute | undefined,
	now: number,
): boolean {
	if (routed?.named) return false;
	return status === "removed" || (deprecated !== undefined && Date.parse(deprecated) <= now);
}
