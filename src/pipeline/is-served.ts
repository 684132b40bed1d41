/** Whether a model of the catalogue can be used here. Calls no engine. */
import type { Model } from "../models/model.ts";
import type { PipelineServices } from "./services.ts";

export function isServed(model: Model, { routing, now }: Pick<PipelineServices, "now" | "routing">): boolean {
	const routed = routing.find(model.id);
	return routed !== undefined && (routed.named || !hasEnded(model, now()));
}

/** Whether the product has ended the model. One that a route names goes on: the operator serves it, whatever the product does. */
export const hasEnded = ({ status, deprecated }: Model, now: number): boolean =>
	status === "removed" || (deprecated !== undefined && Date.parse(deprecated) <= now);
