/**
 * The provider of a search: the one that the request names, or else the default of `WEB_SEARCH`. A key that the gateway stores for it
 * has precedence over the operator's, as in the product.
 */
import { findKey, type KeyLimit, type ProviderKey } from "../providers/provider-key.ts";
import { SearchError } from "./failures.ts";
import { SEARCH_KINDS, SEARCH_PROVIDERS, type SearchKind } from "./providers/index.ts";
import { type ConfiguredProvider, ownProvider, type WebSearchSettings } from "./settings.ts";
import { SIMULATOR } from "./simulated-search.ts";

export interface ChosenProvider {
	provider: ConfiguredProvider;
	/** The account pays the provider. */
	isOwnKey: boolean;
	/** Of the account's key, without the key. `undefined`: the key of the operator. */
	identity: string | undefined;
	/** Of a stored key that has one. */
	keyLimit?: KeyLimit | undefined;
	/** US dollars that one search costs. */
	usd: number;
}

/** The product's default. */
const PRODUCT_DEFAULT = "ceramic";

/** Names that a request may have, for the validation of `provider`. */
export const providerNames = (settings: WebSearchSettings | undefined): string[] => [
	...new Set([...SEARCH_KINDS, ...(settings?.providers.keys() ?? [])]),
];

/**
 * `keys`: those that the gateway stores. `alias`: the caller requests this key.
 *
 * @throws SearchError if there is no such key, and if nothing is set up.
 */
export function chooseProvider(
	{
		name,
		alias,
		keys = [],
	}: { name?: string | undefined; alias?: string | undefined; keys?: readonly ProviderKey[] | undefined },
	settings: WebSearchSettings | undefined,
): ChosenProvider {
	const configured = name === undefined ? settings?.fallback : settings?.providers.get(name);
	const slug = name ?? configured?.kind ?? PRODUCT_DEFAULT;
	const kind = configured?.kind ?? slug;
	if (isOwnable(kind)) {
		const own = findKey(keys, kind, alias);
		if (own)
			return {
				provider: ownProvider(kind, own.secret),
				isOwnKey: true,
				identity: `stored:${own.id}:${own.modifiedAt}`,
				keyLimit: own.limit,
				usd: SEARCH_PROVIDERS[kind].usdPerThousand / 1_000,
			};
	}
	if (alias !== undefined)
		throw new SearchError("noStoredKey", `The gateway has no stored key of ${slug} with this alias`);
	const provider = configured ?? settings?.simulator;
	if (provider)
		return { provider, isOwnKey: false, identity: undefined, usd: provider.model.prices[0]?.usd ?? 0 };
	throw new SearchError("paymentRequired");
}

/**
 * The provider of a hosted search tool: the default of `WEB_SEARCH`, or else the first one for which the gateway stores a key, or else
 * the simulator. `undefined`: there is none, and models have no such tool.
 */
export function chooseHostedProvider(
	keys: readonly ProviderKey[],
	settings: WebSearchSettings | undefined,
): ChosenProvider | undefined {
	const fallback = settings?.fallback;
	if (fallback && fallback.kind !== SIMULATOR) return chooseProvider({ keys }, settings);
	const name = SEARCH_KINDS.find((kind) => isOwnable(kind) && findKey(keys, kind, undefined));
	return name || fallback ? chooseProvider({ name, keys }, settings) : undefined;
}

/** Providers with an address of their own and a key. The address of another one is the operator's. */
const isOwnable = (kind: string): kind is SearchKind =>
	SEARCH_KINDS.some((known) => known === kind && "url" in SEARCH_PROVIDERS[known]);
