/**
 * Resolves model names. A name is an id or an alias. In order of precedence: the configuration's aliases of the account, the
 * configuration's aliases for all accounts, and the aliases that the account has set by the API.
 */
import type { Caller } from "./request.ts";
import type { Services } from "./services.ts";

export type AliasServices = Pick<Services, "aliases" | "catalog" | "ledgers">;
type AliasCaller = Pick<Caller, "account" | "credential">;

export interface KnownAlias {
	alias: string;
	model: string;
	source: "configuration" | "account";
	/** Epoch milliseconds. Only for an alias that was set by the API. */
	modifiedOn?: number;
}

/** The model id of a name; the name itself if it is not an alias. Calls the account only for unknown names. */
export function modelOf(
	name: string,
	caller: AliasCaller,
	services: AliasServices,
): string | Promise<string> {
	const { aliases, catalog, ledgers } = services;
	if (catalog.find(name)) return name;
	const configured = aliases.accounts.get(caller.account)?.get(name) ?? aliases.everyone.get(name);
	if (configured !== undefined) return configured;
	const reading = ledgers.of(caller.account).aliases(caller.credential);
	return reading.then((rows) => rows.find(({ alias }) => alias === name)?.model ?? name);
}

/** All aliases of an account, sorted by name. */
export async function aliasesOf(
	caller: AliasCaller,
	{ aliases, ledgers }: AliasServices,
): Promise<KnownAlias[]> {
	const known = new Map<string, KnownAlias>();
	for (const { alias, model, modified_on } of await ledgers.of(caller.account).aliases(caller.credential))
		known.set(alias, { alias, model, source: "account", modifiedOn: modified_on });
	for (const table of [aliases.everyone, aliases.accounts.get(caller.account) ?? []])
		for (const [alias, model] of table) known.set(alias, { alias, model, source: "configuration" });
	return [...known.values()].sort((a, b) => (a.alias < b.alias ? -1 : 1));
}
