/**
 * Checks the models and the gateway that the configuration of an instance names, when it is set. A model without a route, or a model of a
 * provider whose key is not stored, is accepted: the route or the key may come later.
 */
import { didYouMean } from "../../core/did-you-mean.ts";
import { quotedName } from "../../core/not-found.ts";
import { OPENAI_CHAT, type RouteDialect, takesModel } from "../../dialects/route-dialect.ts";
import { noGateway } from "../../gateways/absent-gateway.ts";
import { aliasName } from "../../gateways/aliases/alias.ts";
import { modelsIn } from "../../gateways/dynamic/elements.ts";
import { customName, customSlug } from "../../gateways/providers/custom-providers.ts";
import { isOfCustomProvider, namesInGateway } from "../../gateways/run/gateway-models.ts";
import { choosesModel } from "../../gateways/run/model-in-gateway.ts";
import {
	compatModel,
	dynamicRouteName,
	idOfNamed,
	isProviderModel,
} from "../../gateways/run/provider-names.ts";
import { DEFAULT_GATEWAY } from "../../gateways/settings.ts";
import { isProductId, type Model } from "../../models/model.ts";
import { modelSuggestion } from "../../pipeline/model-suggestion.ts";
import type { Caller } from "../../pipeline/request.ts";
import { requireKey, resolveModel } from "../../pipeline/resolve-model.ts";
import { searchFailure } from "../../retrieval/search/failures.ts";
import { MODEL_FIELDS, type ModelField } from "../../retrieval/search/model-fields.ts";
import { serving } from "../../retrieval/search/models.ts";
import type { ConfigChanges } from "../../retrieval/search/read-config.ts";
import type { InstanceConfig } from "../../retrieval/search/records.ts";
import { EMBEDDINGS, RERANK } from "../openai/openai.ts";
import type { AppServices } from "../services.ts";

/** The route that takes the models of a field, and what they do in a message. */
const USES = {
	embedding_model: { route: EMBEDDINGS, does: "embed texts" },
	ai_search_model: { route: OPENAI_CHAT, does: "chat" },
	rewrite_model: { route: OPENAI_CHAT, does: "chat" },
	reranking_model: { route: RERANK, does: "rank texts" },
} as const satisfies Record<ModelField, { route: RouteDialect; does: string }>;

interface CheckContext {
	caller: Caller;
	services: AppServices;
}

/**
 * Throws 7010 for a model and 7018 for a gateway that does not exist, and 7010 for a model of another task, so that the mistake does not
 * wait for the first item or search. `before`: the configuration until now, whose values are not checked again.
 */
export async function requireModelsAndGateway(
	fields: ConfigChanges,
	{ caller, services }: CheckContext,
	before?: InstanceConfig,
): Promise<void> {
	const { ai_gateway_id: named = before?.ai_gateway_id } = fields;
	const isOtherGateway = (named || undefined) !== before?.ai_gateway_id;
	if (named && isOtherGateway && !(await services.gateways.find(caller.account, named)))
		throw searchFailure(
			"searchGatewayNotFound",
			noGateway(named, await services.gateways.knownNames(caller.account)),
		);
	const gateway = named || caller.identity?.gateway?.id || DEFAULT_GATEWAY;
	for (const field of MODEL_FIELDS) {
		const model = fields[field] ?? before?.[field];
		const isOther = fields[field] !== undefined && model !== before?.[field];
		// A gateway has names of its own.
		if (model && (isOther || (isOtherGateway && before && isOfGateway(model))))
			await requireModel({ field, name: model, gateway }, { caller, services });
	}
}

interface FieldModel {
	field: ModelField;
	name: string;
	/** The id of the instance's gateway. */
	gateway: string;
}

const slugIn = (name: string): string | undefined => customSlug(name.split("/", 1)[0] ?? "");
const isOfGateway = (name: string): boolean => choosesModel(name) || slugIn(name) !== undefined;

async function requireModel(named: FieldModel, { caller, services }: CheckContext): Promise<void> {
	const { field, name } = named;
	if (choosesModel(name)) return requireChoice(named, { caller, services });
	if (slugIn(name) !== undefined) return requireCustomModel(named, { caller, services });
	const id = await idOfNamed(name, caller, services);
	const known = services.catalog.find(id);
	// A key of the account serves models that no catalogue has.
	if (isProviderModel(id)) return requireTask(named, known ?? services.catalog.adHoc(id), services);
	const resolved = await serving(field, async () => resolveModel(id, caller, services));
	const { model } = resolved;
	// Each model of Workers AI that exists is in the catalogue: the pattern of a route also takes a misspelled id.
	if (model.status === "adhoc" && isProductId(model.id) && !isInRoute(model.id, services))
		throw invalidModel(field, `No such model ${model.id}${modelSuggestion(model.id, services)}`);
	await requireTask(named, model, services);
	requireKey(resolved);
}

const isInRoute = (id: string, { routing }: Pick<AppServices, "routing">): boolean =>
	routing.list().some(({ pattern }) => pattern === id);

/** A model of another task answers no request of the field. An ad hoc model takes OpenAI's routes, but no native request to rank texts. */
function requireTask(
	{ field, name }: Pick<FieldModel, "field" | "name">,
	model: Model,
	services: AppServices,
): void {
	const { does, route } = USES[field];
	if (field === "reranking_model" && model.status === "adhoc")
		throw invalidModel(field, `${quotedName(name)} is not known to ${does}: MODELS can give its task`);
	if (takesModel(route, model)) return;
	const others = services.catalog.all.filter((other) => takesModel(route, other)).map(({ id }) => id);
	const near = didYouMean(name.slice(0, MAX_NAME), others);
	const example = others[0] && `; one that does is ${quotedName(others[0])}`;
	throw invalidModel(
		field,
		`the task of ${quotedName(name)} is ${model.task}, so it does not ${does}${near || (example ?? "")}`,
	);
}

/** Characters. The cost of a comparison grows with the length of the name. */
const MAX_NAME = 100;

/** A dynamic route or an alias of the gateway, or `cloudflare/auto`. */
async function requireChoice(
	{ field, gateway, name }: FieldModel,
	{ caller: { account }, services }: CheckContext,
): Promise<void> {
	const route = dynamicRouteName(name);
	const alias = aliasName(name);
	// The gateway chooses among chat models.
	if (
		field === "reranking_model" ||
		(field === "embedding_model" && route === undefined && alias === undefined)
	)
		throw invalidModel(field, `${quotedName(name)} chooses among models that do not ${USES[field].does}`);
	let ids: string[] = [];
	if (route !== undefined) {
		const deployed = await services.deployedRoutes.find({ account, gateway, name: route });
		if (!deployed) throw await unknownInGateway({ field, gateway, name }, account, services);
		ids = modelsIn(deployed.elements).map((model) => compatModel(model.name, services));
	} else if (alias !== undefined) {
		const pool = await services.aliasPools.find(account, gateway, alias);
		if (!pool) throw await unknownInGateway({ field, gateway, name }, account, services);
		ids = pool.models;
	}
	const models = ids.map((id) => services.catalog.find(id));
	if (models.length > 0 && models.every((model) => model && !takesModel(USES[field].route, model)))
		throw invalidModel(field, `no model of ${quotedName(name)} can ${USES[field].does}`);
}

async function unknownInGateway(
	{ field, gateway, name }: FieldModel,
	account: string,
	services: AppServices,
): Promise<Error> {
	const names = await namesInGateway({ account, id: gateway }, services);
	const kind = dynamicRouteName(name) === undefined ? "alias" : "deployed route";
	return invalidModel(
		field,
		`the gateway ${gateway} has no ${kind} ${quotedName(name)}${didYouMean(name.slice(0, MAX_NAME), names)}`,
	);
}

async function requireCustomModel(
	named: FieldModel,
	{ caller: { account }, services }: CheckContext,
): Promise<void> {
	const { field, gateway, name } = named;
	if (await isOfCustomProvider(name, { account, id: gateway }, services))
		return requireTask(named, services.catalog.adHoc(name), services);
	const { customProviders } = await services.providerAccesses.find(account, gateway);
	const [provider = ""] = name.split("/", 1);
	const slugs = customProviders.map(({ slug }) => customName(slug));
	const reason = slugs.includes(provider)
		? `expected ${provider}/{model}`
		: `the account has no enabled custom provider ${quotedName(provider)}${didYouMean(provider.slice(0, MAX_NAME), slugs)}`;
	throw invalidModel(field, `${quotedName(name)}: ${reason}`);
}

/** 7010 that names the field. */
const invalidModel = (field: ModelField, reason: string): Error =>
	searchFailure("searchModelInvalid", `${field}: ${reason}`);
