/** The models that the lists of OpenAI's, Anthropic's and Google's APIs show. */
import type { Model } from "../../models/model.ts";
import type { Caller } from "../../pipeline/request.ts";
import { aliasesOf, isServed } from "../../pipeline/resolve-model.ts";
import type { Services } from "../../pipeline/services.ts";
import { namedModel } from "../../providers/provider-models.ts";

export interface ListedModel {
	/** The id of the model, or an alias. */
	id: string;
	model: Model;
}

/** The account's aliases come first. */
export async function listModels(caller: Caller, services: Services): Promise<ListedModel[]> {
	const { catalog } = services;
	const aliased = (await aliasesOf(caller, services)).flatMap(({ alias, model: id }): ListedModel[] => {
		const model =
			catalog.find(id) ?? (services.routing.find(id)?.named ? namedModel(id, catalog) : undefined);
		return model && isServed(model, services) ? [{ id: alias, model }] : [];
	});
	const served = catalog.all.filter((model) => isServed(model, services));
	return [...aliased, ...served.map((model) => ({ id: model.id, model }))];
}
