/** The search providers of the deployment: `WEB_SEARCH`, parsed. */
import { adHocModel } from "../models/catalog.ts";
import type { Model, Price } from "../models/model.ts";
import { USD_PER_NEURON } from "../models/neurons.ts";
import type { SearchProvider } from "./provider.ts";
import { SEARCH_PROVIDERS, type SearchKind } from "./providers/index.ts";
import { SIMULATOR } from "./simulated-search.ts";

/** A provider that a search may use. */
export interface ConfiguredProvider {
	/** Its name in `WEB_SEARCH`. */
	name: string;
	kind: SearchKind | typeof SIMULATOR;
	/** Without a trailing slash. Empty for the simulator. */
	url: string;
	/** The resolved secret. It never reaches an error, a log or a reply. */
	key?: string;
	/** The price of one search, in the form that the ledger charges. */
	model: Model;
}

export interface WebSearchSettings {
	providers: ReadonlyMap<string, ConfiguredProvider>;
	/** Answers requests that name no provider. Absent: there is none. */
	fallback?: ConfiguredProvider;
	/** Answers requests for a provider that is not set up. Set if the simulator also answers for models. */
	simulator?: ConfiguredProvider;
}

/** The id in the ledger, in the usage report and in `LIMITS.models`. */
const SEARCH_MODELS = "web-search/";
const searchModelId = (name: string): string => SEARCH_MODELS + name;
export const isSearchModel = (id: string): boolean => id.startsWith(SEARCH_MODELS);

const pricesOf = (usd: number): Price[] =>
	usd === 0 ? [] : [{ unit: "per inference request", usd, neurons: usd / USD_PER_NEURON }];

/** Searches are charged like requests of a model with a price for each request. */
const billedModel = (name: string, usdPerThousand: number): Model => ({
	...adHocModel(searchModelId(name)),
	prices: pricesOf(usdPerThousand / 1_000),
});

export function configuredProvider({
	name,
	kind,
	url,
	key,
	usdPerThousand,
}: {
	name: string;
	kind: ConfiguredProvider["kind"];
	url?: string | undefined;
	key?: string | undefined;
	/** Absent: the price of the provider's table. */
	usdPerThousand?: number | undefined;
}): ConfiguredProvider {
	const row: SearchProvider | undefined = kind === SIMULATOR ? undefined : SEARCH_PROVIDERS[kind];
	const price = usdPerThousand ?? row?.usdPerThousand ?? 0;
	return {
		name,
		kind,
		url: url ?? row?.url ?? "",
		model: billedModel(name, price),
		...(key !== undefined && { key }),
	};
}

const unpaid = new Map<SearchKind, ConfiguredProvider>();

/** A provider with a key of the account, which pays the provider itself. */
export function ownProvider(kind: SearchKind, key: string): ConfiguredProvider {
	const made = unpaid.get(kind) ?? configuredProvider({ name: kind, kind, usdPerThousand: 0 });
	unpaid.set(kind, made);
	return { ...made, key };
}

export const simulatedProvider = (): ConfiguredProvider =>
	configuredProvider({ name: SIMULATOR, kind: SIMULATOR });
