/**
 * The target that a step calls. A model runs through the pipeline: on Workers AI's routes, through `compat`, and on a provider's routes for chat,
 * responses, embeddings and Messages with the operator's key. With a key of the account, and on all other routes, the
 * request is passed to the provider.
 */
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import type { Catalog } from "../../models/catalog.ts";
import { passedHops } from "../../outbound/passed-headers.ts";
import type { KeyLimit } from "../../providers/provider-key.ts";
import { PROVIDERS, type Provider } from "../../providers/providers.ts";
import type { ProviderAccess } from "../durable/provider-access.ts";
import type { GatewayOptions } from "../options.ts";
import { isProvider, providerUrl, urlBelow } from "../providers/addresses.ts";
import { type CustomProvider, customSlug } from "../providers/custom-providers.ts";
import { addressProblem } from "../providers/public-host.ts";
import { WORKERS_AI } from "../request.ts";
import type { GatewayServices } from "../services.ts";
import type { GatewaySettings } from "../settings.ts";
import type { ProviderTarget } from "./provider-call.ts";
import { accountCredential, operatorCredential, requireWholesale } from "./provider-credential.ts";
import { authorIfKnown, COMPAT, invalidProvider, unknownProvider } from "./provider-names.ts";
import type { Step } from "./step.ts";

export type StepTarget =
	| ModelTarget
	| {
			kind: "provider";
			target: ProviderTarget;
			identity: string | undefined;
			keyLimit?: KeyLimit | undefined;
	  };

export interface ModelTarget {
	kind: "model";
	/** With the account's key, if it has one. */
	services: GatewayServices;
	/** Of the account's key. */
	identity: string | undefined;
	/** Of the account's key, if it is stored with one. */
	keyLimit?: KeyLimit | undefined;
	/** The catalogue with the provider's prices. Present if the account pays the provider. */
	providerPrices?: Catalog;
}

export interface TargetContext {
	account: string;
	settings: GatewaySettings;
	access: ProviderAccess;
	/** Of the step, and then of the request. */
	options: GatewayOptions;
	services: GatewayServices;
	/** Whether the path is one that the pipeline answers. */
	isModelRoute: boolean;
}

/** Throws 2008, 2021 or 2040. */
export function targetOf(step: Step, context: TargetContext): StepTarget {
	const { provider, endpoint, sent } = step;
	const { access, options, services } = context;
	if (provider === WORKERS_AI) return operatorsModel(services);
	if (provider === COMPAT) return compatTarget(step, context);
	if (customSlug(provider) !== undefined) return customTarget(step, context);
	const { headers } = sent;
	const credential = accountCredential({ provider, endpoint, headers, options, keys: access.keys });
	const { fetch } = services;
	// Google's SDKs may send the key in the query.
	const keyInQuery = provider === "google-ai-studio" && /[?&]key=/.test(endpoint);
	if (credential || keyInQuery) {
		const target = { url: providerUrl(provider, endpoint), headers: credential?.headers ?? [], sent, fetch };
		return {
			kind: "provider",
			target,
			identity: credential?.identity ?? "query",
			keyLimit: credential?.limit,
		};
	}
	const author = authorIfKnown(provider);
	if (author === undefined && !isProvider(provider)) throw unknownProvider(provider);
	requireWholesale(provider, context);
	if (context.isModelRoute && author !== undefined) return operatorsModel(services);
	const target: ProviderTarget = {
		url: providerUrl(provider, endpoint),
		headers: [operatorCredential(provider, author, services)],
		sent,
		fetch,
	};
	return { kind: "provider", target, identity: undefined };
}

const operatorsModel = (services: GatewayServices): ModelTarget => ({
	kind: "model",
	services,
	identity: undefined,
});

/** `{provider}/{model}` in the body decides. */
function compatTarget(step: Step, context: TargetContext): StepTarget {
	const { fields } = step.inputs;
	const name = isRecord(fields) && typeof fields.model === "string" ? fields.model : "";
	const slash = name.indexOf("/");
	const [provider, model] = [name.slice(0, Math.max(slash, 0)), name.slice(slash + 1)];
	if (customSlug(provider) === undefined)
		return modelTarget({ provider, headers: step.sent.headers }, context);
	const body = JSON.stringify({ ...(isRecord(fields) ? fields : {}), model });
	return customTarget({ ...step, provider, sent: { ...step.sent, body } }, context);
}

/** A provider's model through the pipeline, with the account's key if it has one. Throws 2008 and 2040. */
export function modelTarget(
	{ provider, headers }: { provider: string; headers: Headers },
	context: Omit<TargetContext, "isModelRoute">,
): ModelTarget {
	const { account, access, settings, options, services } = context;
	if (customSlug(provider) !== undefined) return customModel(provider, headers, context);
	const author = authorIfKnown(provider);
	if (author === undefined) return operatorsModel(services);
	const credential = accountCredential({ provider, headers, options, keys: access.keys });
	if (!credential) {
		requireWholesale(provider, { settings, options });
		return operatorsModel(services);
	}
	return {
		kind: "model",
		identity: credential.identity,
		keyLimit: credential.limit,
		providerPrices: services.catalog,
		services: {
			...services,
			catalog: unpriced(services.catalog),
			routing: services.accountRouting({
				name: author,
				provider: own(PROVIDERS, author) as Provider,
				key: credential.key,
				backend: backendOf(author, account),
				headers: {},
			}),
		},
	};
}

/** The circuit breaker of another account's key is another one. */
const backendOf = (provider: string, account: string): string => `${provider}:${encodeURIComponent(account)}`;

/** A model of a custom provider, whose API is taken for OpenAI's. */
function customModel(
	provider: string,
	headers: Headers,
	{ account, access, options, services }: Omit<TargetContext, "isModelRoute">,
): ModelTarget {
	const custom = requireCustom(provider, access, services);
	const credential = accountCredential({ provider, headers, options, keys: access.keys });
	return {
		kind: "model",
		identity: customIdentity(custom, credential?.identity),
		keyLimit: credential?.limit,
		providerPrices: services.catalog,
		services: {
			...services,
			catalog: unpriced(services.catalog),
			fetch: publicFetchOf(services),
			routing: services.accountRouting({
				name: provider,
				provider: { kind: "openai", url: custom.base_url },
				key: credential?.key,
				// The circuit breaker of another address is another one.
				backend: `${backendOf(provider, account)}:${custom.modifiedAt}`,
				headers: { ...custom.headers },
			}),
		},
	};
}

/** Throws 2008 for a provider that the account does not have, or whose address the operator does not allow. */
function requireCustom(
	provider: string,
	{ customProviders }: ProviderAccess,
	services: GatewayServices,
): CustomProvider {
	const slug = customSlug(provider);
	const custom = customProviders.find((listed) => listed.slug === slug);
	if (!custom) throw invalidProvider(provider, "is not an enabled custom provider of the account");
	requireAllowedAddress(custom.base_url, services);
	if (passedHops() > 0 && !services.gatewayRules.allowChainedGateways)
		throw invalidProvider(
			custom.slug,
			"is not called for a request of another gateway, unless the operator sets AI_GATEWAY.allow_chained_gateways",
		);
	return custom;
}

const publicFetchOf = ({ gatewayRules, publicFetch, fetch }: GatewayServices): typeof globalThis.fetch =>
	(!gatewayRules.allowPrivateAddresses && publicFetch) || fetch;

/** The operator pays nothing for these calls, and charges nothing. */
const unpricedCatalogs = new WeakMap<Catalog, Catalog>();

function unpriced(catalog: Catalog): Catalog {
	const existing = unpricedCatalogs.get(catalog);
	if (existing) return existing;
	const created = catalog.withPrices((model) => ({ ...model, prices: [] }));
	unpricedCatalogs.set(catalog, created);
	return created;
}

/** The path is appended to the address of the custom provider. */
function customTarget({ provider, endpoint, sent }: Step, context: TargetContext): StepTarget {
	const { access, options, services } = context;
	const custom = requireCustom(provider, access, services);
	const credential = accountCredential({ provider, headers: sent.headers, options, keys: access.keys });
	const target: ProviderTarget = {
		url: urlBelow(custom.base_url, endpoint),
		headers: [...Object.entries(custom.headers ?? {}), ...(credential?.headers ?? [])],
		sent,
		fetch: publicFetchOf(services),
	};
	const identity = customIdentity(custom, credential?.identity);
	return { kind: "provider", target, identity, keyLimit: credential?.limit };
}

/** A change of the provider also changes the identity, so that no cached answer of the former one is used. */
const customIdentity = ({ id, modifiedAt }: CustomProvider, credential = ""): string =>
	`custom:${id}:${modifiedAt}:${credential}`;

/** Throws 2008 for an address that the operator does not allow. The address was stored before, when the rules may have differed. */
function requireAllowedAddress(
	address: string,
	{ gatewayRules, publicUrl }: Pick<GatewayServices, "gatewayRules" | "publicUrl">,
): void {
	const problem = addressProblem(address, { ...gatewayRules, publicUrl });
	if (problem !== undefined) throw new AiError("invalidProvider", `Invalid provider: base_url ${problem}`);
}
