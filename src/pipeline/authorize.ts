/** The model a caller named, or the reason why not. */
import { AiError } from "../errors.ts";
import type { Model } from "../models/model.ts";
import type { Services } from "../request.ts";

export type AuthorizeServices = Pick<Services, "catalog" | "routing" | "now">;

/** A model that has ended runs where a route names it: the operator serves it, whatever the product does. */
export function authorize(id: string, services: AuthorizeServices): Model {
	const { catalog, routing } = services;
	const served = routing.find(id);
	const model = catalog.find(id);
	if (!model) {
		if (served?.named) return catalog.adHoc(id);
		throw new AiError("noSuchModel", `No such model ${id} or task`);
	}
	if (hasEnded(model, services))
		throw new AiError(
			"deprecatedModel",
			`${id} was ${model.deprecated ? `deprecated on ${model.deprecated}` : "removed"}. See the model catalog for alternatives`,
		);
	return model;
}

/** Whether a model of the catalogue answers here, as far as can be told without asking it anything. */
export const isServed = (model: Model, services: AuthorizeServices): boolean =>
	services.routing.find(model.id) !== undefined && !hasEnded(model, services);

function hasEnded({ id, status, deprecated }: Model, { routing, now }: AuthorizeServices): boolean {
	if (routing.find(id)?.named) return false;
	return status === "removed" || (deprecated !== undefined && Date.parse(deprecated) <= now());
}
