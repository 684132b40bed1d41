/** The model that a caller names, by id or alias, and its route. Throws 5007, 5028, or AI Gateway's 2021 and 7003. */
import type { Model } from "../models/model.ts";
import { type AliasServices, modelOf } from "./aliases.ts";
import { type AuthorizeServices, authorize } from "./authorize.ts";
import type { Routed } from "./plan.ts";
import type { Caller } from "./request.ts";

export interface ResolvedModel {
	model: Model;
	/** Absent if no route and no default backend serves the model. */
	routed: Routed | undefined;
}

export function resolveModel(
	name: string,
	caller: Pick<Caller, "account" | "credential">,
	services: AliasServices & AuthorizeServices,
): ResolvedModel | Promise<ResolvedModel> {
	const id = modelOf(name, caller, services);
	return typeof id === "string"
		? resolvedModel(id, services)
		: id.then((found) => resolvedModel(found, services));
}

function resolvedModel(id: string, services: AuthorizeServices): ResolvedModel {
	const routed = services.routing.find(id);
	return { model: authorize(id, routed, services), routed };
}
