/** The models that the lists of OpenAI's, Anthropic's and Google's APIs show. */
import { AiError } from "../../core/errors.ts";
import { gatewayOfCaller, isOfCustomProvider, namesInGateway } from "../../gateways/run/gateway-models.ts";
import { isProductId, type Model } from "../../models/model.ts";
import { isServed } from "../../pipeline/is-served.ts";
import type { Caller } from "../../pipeline/request.ts";
import { aliasesOf, resolveModel } from "../../pipeline/resolve-model.ts";
import { namedModel } from "../../providers/provider-models.ts";
import type { AppServices } from "../services.ts";

export interface ListedModel {
	/** The id of the model, or an alias. */
	id: string;
	model: Model;
}

/** The account's aliases come first, then the names of the gateway that the request concerns. */
export async function listModels(
	caller: Caller,
	headers: Headers,
	services: AppServices,
): Promise<ListedModel[]> {
	const { catalog } = services;
	const [aliases, names] = await Promise.all([
		aliasesOf(caller, services),
		namesInGateway(gatewayOfCaller(caller, headers), services),
	]);
	const aliased = aliases.flatMap(({ alias, model: id }): ListedModel[] => {
		const model =
			catalog.find(id) ?? (services.routing.find(id)?.named ? namedModel(id, catalog) : undefined);
		return model && isServed(model, services) ? [{ id: alias, model }] : [];
	});
	const served = catalog.all.filter((model) => isServed(model, services));
	return [
		...aliased,
		...names.map((id) => ({ id, model: namedModel(id, catalog) })),
		...served.map((model) => ({ id: model.id, model })),
	];
}

/**
 * A listed model, or one of a name that cannot be listed: one that only the pattern of a route matches (`gpt-5.6-sol` for `gpt-*`), or a
 * model of a custom provider.
 */
export async function findModel(
	id: string,
	caller: Caller,
	headers: Headers,
	services: AppServices,
): Promise<ListedModel | undefined> {
	const listed = (await listModels(caller, headers, services)).find((model) => model.id === id);
	// Each model of Workers AI that exists is in the catalogue.
	if (listed || isProductId(id) || services.catalog.find(id)) return listed;
	if (await isOfCustomProvider(id, gatewayOfCaller(caller, headers), services))
		return { id, model: namedModel(id, services.catalog) };
	try {
		const { model, routed } = await resolveModel(id, caller, services);
		return routed && { id, model };
	} catch (error) {
		if (error instanceof AiError) return undefined;
		throw error;
	}
}
