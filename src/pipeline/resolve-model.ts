/** The model that a caller names, by id or alias, where it may be used. Throws 5007, 5028 or AI Gateway's 2021. */
import type { Model } from "../models/model.ts";
import { type AliasServices, modelOf } from "./aliases.ts";
import { type AuthorizeServices, authorize } from "./authorize.ts";
import type { Caller } from "./request.ts";

export const resolveModel = async (
	name: string,
	caller: Pick<Caller, "account" | "credential">,
	services: AliasServices & AuthorizeServices,
): Promise<Model> => authorize(await modelOf(name, caller, services), services);
