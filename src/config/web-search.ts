/** `WEB_SEARCH`: the search providers by name. The first is the default, unless another says so. */
import * as z from "zod";
import { EngineUrl } from "../backends/engine-url.ts";
import { lazy } from "../core/lazy.ts";
import { expectedName } from "../schemas/explain.ts";
import { SEARCH_KINDS, SEARCH_PROVIDERS, type SearchKind } from "../websearch/providers/index.ts";
import {
	type ConfiguredProvider,
	configuredProvider,
	simulatedProvider,
	type WebSearchSettings,
} from "../websearch/settings.ts";
import { SIMULATOR } from "../websearch/simulated-search.ts";
import { amount } from "./amounts.ts";
import { type Env, secret } from "./headers.ts";
import type { Path, Problems } from "./problems.ts";

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/;

const settingsOf = (env: Env) =>
	lazy(() =>
		z.strictObject({
			kind: z.enum([...SEARCH_KINDS, SIMULATOR]),
			url: EngineUrl.optional(),
			key: secret(env).optional(),
			default: z.boolean().optional(),
			usd_per_thousand: amount.optional(),
		}),
	);

/** `simulated`: the simulator is the deployment's default backend, so it also answers searches for which nothing is set up. */
export function readWebSearch(
	entries: readonly [string, unknown][],
	{ env, simulated, problems }: { env: Env; simulated: boolean; problems: Problems },
): WebSearchSettings | undefined {
	const schema = settingsOf(env);
	const providers = new Map<string, ConfiguredProvider>();
	const defaults: string[] = [];
	for (const [name, entry] of entries) {
		const path: Path = ["WEB_SEARCH", name];
		if (!NAME.test(name))
			problems.add(
				path,
				"expected a name of up to 64 lower-case letters, digits, '.', '_' and '-', found another",
			);
		const parsed = problems.parse(schema(), entry, path);
		if (!parsed) continue;
		const { kind, url, key, default: isDefault, usd_per_thousand: usdPerThousand } = parsed;
		checkNeeds({ kind, url, key }, path, problems);
		if (name !== kind && SEARCH_KINDS.some((known) => known === name))
			problems.add([...path, "kind"], expectedName([name], kind));
		if (isDefault) defaults.push(name);
		providers.set(name, configuredProvider({ name, kind, url, key, usdPerThousand }));
	}
	if (defaults.length > 1) problems.add(["WEB_SEARCH"], `expected one default, found ${defaults.length}`);
	const [first] = providers.keys();
	const simulator = simulated ? simulatedProvider() : undefined;
	const fallback = providers.get(defaults[0] ?? first ?? "") ?? simulator;
	if (!fallback) return undefined;
	return { providers, fallback, ...(simulator && { simulator }) };
}

function checkNeeds(
	{ kind, url, key }: { kind: SearchKind | typeof SIMULATOR; url: string | undefined; key: unknown },
	path: Path,
	problems: Problems,
): void {
	if (kind === SIMULATOR) return;
	const hasAddress = "url" in SEARCH_PROVIDERS[kind];
	if (hasAddress && key === undefined)
		problems.add([...path, "key"], "expected the name of a secret that is set, found none");
	if (!hasAddress && url === undefined)
		problems.add([...path, "url"], "expected the address of the instance, found none");
}
