/**
 * `ALIASES`: names that callers may use instead of a model's id. `{"fast": "@cf/…"}` is for all accounts,
 * `{"accounts": {"acme": {"fast": "@cf/…"}}}` for one, and comes first there.
 */
import type { Catalog } from "../models/catalog.ts";
import type { Aliases, Routing } from "../request.ts";
import { didYouMean, kindOf, type Path, type Problems, quote } from "./problems.ts";

/** The key of {@link Aliases} by account; no alias has this name. */
const ACCOUNTS = "accounts";
const ALIAS = /^[^\s*?#]{1,256}$/;

export interface AliasWorld {
	catalog: Catalog;
	routing: Pick<Routing, "find">;
	/** Names that are aliases already. */
	isAlias(name: string): boolean;
}

/** What is wrong with an alias, beginning with what was expected; nothing where it is right. */
export function aliasProblem(alias: string, model: string, world: AliasWorld): string | undefined {
	const { catalog, routing, isAlias } = world;
	if (!ALIAS.test(alias) || alias === ACCOUNTS)
		return "expected a name of up to 256 characters without spaces, *, ? and #";
	if (catalog.find(alias)) return "expected a new name, found the id of a model";
	if (catalog.find(model)) return undefined;
	if (isAlias(model) || model === alias) return `expected the id of a model, found the alias ${quote(model)}`;
	if (routing.find(model)?.named) return undefined;
	const ids = catalog.all.map(({ id }) => id);
	return `expected the id of a model, found ${quote(model)}${didYouMean(model, ids)}`;
}

export function readAliases(
	entries: readonly [string, unknown][],
	world: Omit<AliasWorld, "isAlias">,
	problems: Problems,
): Aliases {
	const everyone = entries.filter(([name]) => name !== ACCOUNTS);
	const names = new Set(everyone.map(([name]) => name));
	const read = (list: readonly [string, unknown][], path: Path, own: ReadonlySet<string>) =>
		new Map(
			list.flatMap(([alias, model]): [string, string][] => {
				const problem =
					typeof model === "string"
						? aliasProblem(alias, model, { ...world, isAlias: (name) => names.has(name) || own.has(name) })
						: `expected the id of a model, found ${kindOf(model)}`;
				if (problem) problems.add([...path, alias], problem);
				return typeof model === "string" && !problem ? [[alias, model]] : [];
			}),
		);
	const byAccount = entriesOf(
		entries.find(([name]) => name === ACCOUNTS)?.[1],
		["ALIASES", ACCOUNTS],
		problems,
	);
	return {
		everyone: read(everyone, ["ALIASES"], names),
		accounts: new Map(
			byAccount.map(([account, table]) => {
				const path: Path = ["ALIASES", ACCOUNTS, account];
				const list = entriesOf(table, path, problems);
				return [account, read(list, path, new Set(list.map(([name]) => name)))];
			}),
		),
	};
}

function entriesOf(value: unknown, path: Path, problems: Problems): [string, unknown][] {
	if (value === undefined) return [];
	if (typeof value === "object" && value !== null && !Array.isArray(value)) return Object.entries(value);
	problems.add(path, `expected an object, found ${kindOf(value)}`);
	return [];
}
