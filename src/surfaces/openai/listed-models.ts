/** The models that the lists of OpenAI's, Anthropic's and Google's APIs show. */
import { AiError } from "../../core/errors.ts";
import { isProductId, type Model } from "../../models/model.ts";
import type { Caller } from "../../pipeline/request.ts";
import { aliasesOf, isServed, resolveModel } from "../../pipeline/resolve-model.ts";
import { namedModel } from "../../providers/provider-models.ts";
import type { AppServices } from "../services.ts";

export interface ListedModel {
	/** The id of the model, or an alias. */
	id: string;
	model: Model;
}

/** The account's aliases come first. */
export async function listModels(caller: Caller, services: AppServices): Promise<ListedModel[]> {
	const { catalog } = services;
	const aliased = (await aliasesOf(caller, services)).flatMap(({ alias, model: id }): ListedModel[] => {
		const model =
			catalog.find(id) ?? (services.routing.find(id)?.named ? namedModel(id, catalog) : undefined);
		return model && isServed(model, services) ? [{ id: alias, model }] : [];
	});
	const served = catalog.all.filter((model) => isServed(model, services));
	return [...aliased, ...served.map((model) => ({ id: model.id, model }))];
}

/** A listed model, or one of a name that only the pattern of a route matches: `gpt-5.6-sol` for `gpt-*`. */
export async function findModel(
	id: string,
	caller: Caller,
	services: AppServices,
): Promise<ListedModel | undefined> {
	const listed = (await listModels(caller, services)).find((model) => model.id === id);
	// Each model of Workers AI that exists is in the catalogue.
	if (listed || isProductId(id) || services.catalog.find(id)) return listed;
	try {
		const { model, routed } = await resolveModel(id, caller, services);
		return routed && { id, model };
	} catch (error) {
		if (error instanceof AiError) return undefined;
		throw error;
	}
}
