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

export async function resolveModel(
	name: string,
	caller: Pick<Caller, "account" | "credential">,
	services: AliasServices & AuthorizeServices,
): Promise<ResolvedModel> {
	const id = await modelOf(name, caller, services);
	const routed = services.routing.find(id);
	return { model: authorize(id, routed, services), routed };
}
