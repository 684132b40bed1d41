/** Explains a request to a dynamic route: the models that would be called, and the plan of each, which `ROUTES` decide. */
import type { Explanation } from "../../pipeline/explain.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { RequestFacts } from "../dynamic/conditions.ts";
import { walk } from "../dynamic/walk.ts";
import { customSlug } from "../providers/custom-providers.ts";
import type { GatewayServices } from "../services.ts";
import { routeNotFound } from "./dynamic-plan.ts";
import { compatModel, DYNAMIC_ROUTE, type OwnModels } from "./provider-names.ts";

interface DynamicExplanation {
	model: string;
	dynamic_route: {
		gateway: string;
		/** Limits on the way. The request is not counted, and is assumed to have room. */
		rates: { element: string; key: string; value: string; limit: number; window: number }[];
		/** In the order in which they are called if each fails. A percentage is drawn for each explanation. */
		models: (ExplainedModel & { element: string })[];
	};
}

/** The request would be passed to the custom provider, without a plan. */
interface CustomModel {
	model: string;
	custom_provider: string;
}

export type ExplainedModel = Explanation | CustomModel;

/** `name`: as `compat` has it. */
export async function explainedModel(
	name: string,
	explain: (model: string) => Promise<Explanation>,
	services: OwnModels,
): Promise<ExplainedModel> {
	const slug = customSlug(name.split("/", 1)[0] ?? "");
	return slug === undefined ? explain(compatModel(name, services)) : { model: name, custom_provider: slug };
}

interface ExplainedRequest {
	caller: Caller;
	gateway: string;
	/** The route's name. */
	name: string;
	facts: RequestFacts;
	/** The plan of a request for one model. */
	explain(model: string): Promise<Explanation>;
}

/** Throws 7003 for an unknown route. */
export async function explainDynamic(
	{ caller: { account }, gateway, name, facts, explain }: ExplainedRequest,
	services: Pick<GatewayServices, "deployedRoutes" | "random"> & OwnModels,
): Promise<DynamicExplanation> {
	const { deployedRoutes, random } = services;
	const model = `${DYNAMIC_ROUTE}${name}`;
	const route = await deployedRoutes.find({ account, gateway, name });
	if (!route) throw routeNotFound(gateway, name);
	const rates: DynamicExplanation["dynamic_route"]["rates"] = [];
	const models: DynamicExplanation["dynamic_route"]["models"] = [];
	const steps = walk(route.elements, {
		facts,
		random,
		admit: async ({ id, properties: { key, limit, window } }, value) => {
			rates.push({ element: id, key, value, limit, window });
			return true;
		},
	});
	for (let next = await steps.next(false); !next.done; next = await steps.next(false)) {
		const { id, properties } = next.value;
		const named = `${properties.provider}/${properties.model}`;
		models.push({ element: id, ...(await explainedModel(named, explain, services)) });
	}
	return { model, dynamic_route: { gateway, rates, models } };
}
