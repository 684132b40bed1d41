/** The model a caller named, or the reason why not. */
import { AiError } from "../errors.ts";
import { adHocModel } from "../models/catalog.ts";
import type { Model } from "../models/model.ts";
import type { Services } from "../request.ts";

/** A model that has ended runs where a route names it: the operator serves it, whatever the product does. */
export function authorize(id: string, { catalog, routing, now }: Services): Model {
	const served = routing.find(id);
	const model = catalog.find(id);
	if (!model) {
		if (served?.named) return adHocModel(id);
		throw new AiError("noSuchModel", `No such model ${id} or task`);
	}
	if (!served?.named && hasEnded(model, now()))
		throw new AiError(
			"deprecatedModel",
			`Model has been deprecated: ${id} was deprecated${model.deprecated ? ` on ${model.deprecated}` : ""}. See the model catalog for alternatives`,
		);
	return model;
}

const hasEnded = ({ status, deprecated }: Model, now: number): boolean =>
	status === "removed" || (deprecated !== undefined && Date.parse(deprecated) <= now);
