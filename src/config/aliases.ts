/**
 * `ALIASES`: names that callers may use instead of a model's id. `{"fast": "@cf/…"}` is for all accounts,
 * `{"accounts": {"acme": {"fast": "@cf/…"}}}` for one, and comes first there.
 */
import { ACCOUNTS, type AliasProblemServices, aliasProblem } from "../pipeline/alias-problem.ts";
import type { Aliases } from "../pipeline/services.ts";
import { kindOf } from "../schemas/explain.ts";
import type { Path, Problems } from "./problems.ts";

export function readAliases(
	entries: readonly [string, unknown][],
	known: Omit<AliasProblemServices, "isAlias">,
	problems: Problems,
): Aliases {
	const everyone = entries.filter(([name]) => name !== ACCOUNTS);
	const names = new Set(everyone.map(([name]) => name));
	const read = (list: readonly [string, unknown][], path: Path, own: ReadonlySet<string>) =>
		new Map(
			list.flatMap(([alias, model]): [string, string][] => {
				const problem =
					typeof model === "string"
						? aliasProblem(alias, model, { ...known, isAlias: (name) => names.has(name) || own.has(name) })
						: `expected the id of a model, found ${kindOf(model)}`;
				if (problem) problems.add([...path, alias], problem);
				return typeof model === "string" && !problem ? [[alias, model]] : [];
			}),
		);
	const [, accounts] = entries.find(([name]) => name === ACCOUNTS) ?? [];
	const byAccount = problems.entriesOf(accounts, ["ALIASES", ACCOUNTS]);
	return {
		everyone: read(everyone, ["ALIASES"], names),
		accounts: new Map(
			byAccount.map(([account, table]) => {
				const path: Path = ["ALIASES", ACCOUNTS, account];
				const list = problems.entriesOf(table, path);
				return [account, read(list, path, new Set(list.map(([name]) => name)))];
			}),
		),
	};
}
