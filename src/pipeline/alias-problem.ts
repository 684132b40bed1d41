/** Checks an alias of the configuration or of an account. */
import { didYouMean, quote } from "../core/did-you-mean.ts";
import type { Catalog } from "../models/catalog.ts";
import type { Routing } from "./plan.ts";

/** Key of the aliases by account; no alias can have this name. */
export const ACCOUNTS = "accounts";
const ALIAS = /^[^\s*?#]{1,256}$/;

export interface AliasProblemServices {
	catalog: Catalog;
	routing: Pick<Routing, "find">;
	/** Whether an alias of this name exists. */
	isAlias(name: string): boolean;
}

/** Describes the mistake, starting with what was expected. Returns nothing for a valid alias. */
export function aliasProblem(
	alias: string,
	model: string,
	services: AliasProblemServices,
): string | undefined {
	const { catalog, routing, isAlias } = services;
	if (!ALIAS.test(alias) || alias === ACCOUNTS)
		return "expected a name of up to 256 characters without spaces, *, ? and #";
	if (catalog.find(alias)) return "expected a new name, found the id of a model";
	if (catalog.find(model)) return undefined;
	if (isAlias(model) || model === alias) return `expected the id of a model, found the alias ${quote(model)}`;
	if (routing.find(model)?.named) return undefined;
	const ids = catalog.all.map(({ id }) => id);
	return `expected the id of a model, found ${quote(model)}${didYouMean(model, ids)}`;
}
