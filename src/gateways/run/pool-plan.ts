/**
 * A request to a pool of models: an alias of the gateway (`custom/{name}`), or `cloudflare/auto`. The models are called in order until one
 * succeeds. `cf-aig-routed-model` and `cf-aig-routing-reason` name the model and why it was called.
 */
import { AiError } from "../../core/errors.ts";
import type { Model } from "../../models/model.ts";
import { basePrices } from "../../models/price-tiers.ts";
import { isThirdPartyId } from "../../models/third-party.ts";
import { isServed } from "../../pipeline/is-served.ts";
import { findKey } from "../../providers/provider-key.ts";
import { ALIAS, aliasName } from "../aliases/alias.ts";
import { featuresOf } from "../auto/features.ts";
import { DEFAULT_POOL, tierOf } from "../auto/pool.ts";
import { type PoolCandidate, type Ranking, rank } from "../auto/rank.ts";
import type { ProviderAccess } from "../durable/provider-access.ts";
import type { GatewayOptions } from "../options.ts";
import { customSlug } from "../providers/custom-providers.ts";
import type { PlannedStep } from "../request.ts";
import { WORKERS_AI } from "../request.ts";
import type { GatewayServices } from "../services.ts";
import type { DynamicRequest } from "./dynamic-plan.ts";
import { isAuto, slugOf } from "./provider-names.ts";
import type { PlanContext } from "./run-in-gateway.ts";

interface AliasPoolRequest extends Pick<DynamicRequest, "index" | "stepFor"> {
	/** `custom/{name}` or `cloudflare/auto`. */
	model: string;
	body: unknown;
	options: GatewayOptions;
}

interface GatewayOfPool {
	account: string;
	gateway: string;
}

/** A pool in the order in which its models are called. */
interface OrderedPool {
	models: readonly string[];
	/** Absent for an alias whose order is its own. */
	ranking?: Ranking;
}

/** Whether the name of a model names a pool. */
export const isPoolName = (model: unknown): model is string =>
	aliasName(model) !== undefined || isAuto(model);

/** Returns the answer of the last model. Throws 7003 for an unknown or an empty alias, and 2008 if no model may answer. */
export async function* poolPlan(
	{ model, body, options, index, stepFor }: AliasPoolRequest,
	{ account, settings, exchange }: PlanContext,
	services: GatewayServices,
): AsyncGenerator<PlannedStep, Response | undefined, Response | undefined> {
	const { models, ranking } = await orderedPool(
		{ model, body, options },
		{ account, gateway: settings.id },
		services,
	);
	const decisionId = services.uuid();
	exchange.report({ route: model });
	let response: Response | undefined;
	for (const [position, id] of models.entries()) {
		await response?.body?.cancel();
		const first = ranking?.reason;
		exchange.report({
			routing: {
				model: id,
				decisionId,
				reason: position === 0 ? first : "fallback_candidate_unavailable",
			},
		});
		// The headers name the model as a request does.
		const step = { ...stepFor(compatName(id), {}), provider: slugOf(id), model: id };
		response = yield { step, index, hasFallback: position < models.length - 1 };
		if (response?.ok) break;
	}
	return response;
}

/** The name with which `compat` calls a model of the catalogue. */
export const compatName = (id: string): string => (isThirdPartyId(id) ? id : `${WORKERS_AI}/${id}`);

export async function orderedPool(
	{ model, body, options }: Pick<AliasPoolRequest, "model" | "body" | "options">,
	{ account, gateway }: GatewayOfPool,
	services: GatewayServices,
): Promise<OrderedPool> {
	const name = aliasName(model);
	if (name !== undefined) {
		const pool = await services.aliasPools.find(account, gateway, name);
		if (!pool || pool.models.length === 0)
			throw aliasNotFound(name, pool ? "has no models" : `the gateway ${gateway} has no alias of this name`);
		if (pool.routing === "fallback") return { models: pool.models };
		return ranked(pool.models, body, options, services);
	}
	const access = await services.providerAccesses.find(account, gateway);
	return ranked(autoModels(options, access, services), body, options, services);
}

function ranked(
	ids: readonly string[],
	body: unknown,
	{ noSessionAffinity }: GatewayOptions,
	services: GatewayServices,
): OrderedPool {
	const candidates = ids.map((id) => candidateOf(id, services));
	const ranking = rank(candidates, featuresOf(body), { followsConversation: !noSessionAffinity });
	return { models: ranking.candidates.map(({ id }) => id), ranking };
}

/** Throws 2008 if the lists of the request leave no model. */
function autoModels(
	{ allowedModels, excludedModels = [], allowedProviders }: GatewayOptions,
	access: ProviderAccess,
	services: GatewayServices,
): string[] {
	const known = knownModels(access, services);
	const pool = allowedModels
		? allowedModels.flatMap((pattern) => matching(pattern, known))
		: defaultPool(known);
	const left = [...new Set(pool)].filter(
		(id) =>
			!excludedModels.some((pattern) => expression(pattern).test(id)) &&
			(allowedProviders?.includes(slugOf(id)) ?? true),
	);
	if (left.length === 0)
		throw new AiError(
			"invalidProvider",
			allowedModels || allowedProviders || excludedModels.length > 0
				? "Invalid provider: cloudflare/auto: the allowed and excluded models and providers leave no model"
				: "Invalid provider: cloudflare/auto: no chat model is served here",
		);
	return left;
}

/** The chat models that this deployment or a key of the account serves. */
function knownModels({ keys }: ProviderAccess, services: GatewayServices): string[] {
	const chat = services.catalog.all.filter((model) => isChat(model) && isServed(model, services));
	const keyed = DEFAULT_POOL.filter((id) => findKey(keys, slugOf(id), undefined) !== undefined);
	return [...new Set([...keyed, ...chat.map(({ id }) => id)])];
}

const isChat = ({ task, capabilities }: Model): boolean =>
	task === "Text Generation" && capabilities.includes("streaming");

/** The product's default pool, if one of its models is served here. Otherwise all chat models that are. */
function defaultPool(known: readonly string[]): readonly string[] {
	const pool = DEFAULT_POOL.filter((id) => known.includes(id));
	return pool.length > 0 ? pool : known;
}

/** A name without `*` may also be one that only a route or a custom provider knows. Throws 2008 if nothing matches. */
function matching(pattern: string, known: readonly string[]): string[] {
	const found = pattern.includes("*") ? known.filter((id) => expression(pattern).test(id)) : [pattern];
	if (found.length > 0 && !isPoolName(pattern)) return found;
	throw new AiError(
		"invalidProvider",
		`Invalid provider: cloudflare/auto: no model matches ${JSON.stringify(pattern.slice(0, 64))}`,
	);
}

/** `*` matches any text without a slash. */
const expression = (pattern: string): RegExp =>
	new RegExp(`^${pattern.split("*").map(escaped).join("[^/]*")}$`);
const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

function candidateOf(id: string, { catalog }: GatewayServices): PoolCandidate {
	const model = catalog.find(id);
	const outputUsd = basePrices(model?.prices ?? []).find(({ unit }) => unit === "per M output tokens")?.usd;
	const tier = tierOf(id, outputUsd);
	if (!model || customSlug(slugOf(id)) !== undefined) return { id, tier };
	const { contextWindow, capabilities, source } = model;
	return {
		id,
		tier,
		outputUsd,
		contextWindow,
		tools: capabilities.includes("function_calling"),
		// The capabilities of models of providers are not in the catalogue.
		...(!isThirdPartyId(id) && source !== 0 && { vision: capabilities.includes("vision") }),
	};
}

const aliasNotFound = (name: string, reason: string): AiError =>
	new AiError(
		"unknownThirdPartyModel",
		`Model not found: ${ALIAS}${name.slice(0, 64).toWellFormed()} (${reason})`,
	);
