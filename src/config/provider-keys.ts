/**
 * `PROVIDER_KEYS`: API keys of providers, by author. A key makes a backend with the author's name, which routes may name, and
 * a route `author/*` to it. A route of `ROUTES` that matches an id equally or more exactly has precedence.
 */
import { own } from "../core/own.ts";
import type { ConfiguredBackend, RouteList, Routing } from "../pipeline/plan.ts";
import { type Route, RouteTable } from "../pipeline/route.ts";
import type { AccountProvider } from "../providers/account-provider.ts";
import { PROVIDERS, type Provider } from "../providers/providers.ts";
import { expectedName } from "../schemas/explain.ts";
import { keyedBackend } from "./backends.ts";
import { type Env, secret } from "./headers.ts";
import type { Path, Problems } from "./problems.ts";

interface KeyedProvider {
	backend: ConfiguredBackend;
	route: Route;
}

/** A backend and a route for each valid key. `taken`: names of `BACKENDS`. */
export function readProviderKeys(
	entries: readonly [string, unknown][],
	{ env, taken, problems }: { env: Env; taken: { has(name: string): boolean }; problems: Problems },
): KeyedProvider[] {
	return entries.flatMap(([name, entry]) => {
		const path: Path = ["PROVIDER_KEYS", name];
		const author = own(PROVIDERS, name);
		if (!author) problems.add(path, expectedName(Object.keys(PROVIDERS), name));
		else if (taken.has(name))
			problems.add(path, "expected an author that is not the name of a backend, found one of BACKENDS");
		const key = problems.parse(secret(env), entry, path);
		return author && key !== undefined ? [provider(name, author, key)] : [];
	});
}

function provider(
	name: string,
	author: Provider,
	key: string | undefined,
	{ backendName = name, headers = {} }: { backendName?: string; headers?: Record<string, string> } = {},
): KeyedProvider {
	const backend = keyedBackend(backendName, author, key);
	const prefix = `${name}/`;
	const rename = (modelId: string): string => {
		const model = modelId.slice(prefix.length);
		return author.nameOf?.(model) ?? model;
	};
	return { backend, route: { pattern: `${prefix}*`, targets: [{ backend, rename, headers }] } };
}

/** The route `name/*` to a provider that an account pays. The operator pays nothing for it. No other model has a route. */
export function accountRouting({
	name,
	provider: api,
	key,
	backend,
	headers,
}: AccountProvider): Routing & RouteList {
	const table = new RouteTable([provider(name, api, key, { backendName: backend, headers }).route]);
	return {
		list: () => table.list(),
		find(modelId) {
			const routed = table.find(modelId);
			return routed && { ...routed, billed: false };
		},
	};
}
