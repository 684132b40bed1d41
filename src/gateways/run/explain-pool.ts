/** Explains a request to an alias or to `cloudflare/auto`: the order of the models, why, and the plan of each. */
import type { Explanation } from "../../pipeline/explain.ts";
import type { Ranking } from "../auto/rank.ts";
import type { GatewayOptions } from "../options.ts";
import type { GatewayServices } from "../services.ts";
import { type ExplainedModel, explainedModel } from "./explain-dynamic.ts";
import { compatName, orderedPool } from "./pool-plan.ts";

interface PoolExplanation {
	model: string;
	pool: {
		gateway: string;
		/** Why the first model would be called, and the tier that the request needs. Absent for an alias in its own order. */
		reason?: Ranking["reason"];
		tier?: number;
		/** Models that cannot take the input. */
		unsuited?: Ranking["unsuited"];
		/** In the order in which they are called if each fails. */
		models: ExplainedModel[];
	};
}

interface ExplainedPoolRequest {
	account: string;
	gateway: string;
	/** `custom/{name}` or `cloudflare/auto`. */
	model: string;
	body: unknown;
	options: GatewayOptions;
	/** The plan of a request for one model. */
	explain(model: string): Promise<Explanation>;
}

/** Throws 7003 for an unknown or an empty alias, and 2008 if no model may answer. */
export async function explainPool(
	{ account, gateway, model, body, options, explain }: ExplainedPoolRequest,
	services: GatewayServices,
): Promise<PoolExplanation> {
	const { models, ranking } = await orderedPool({ model, body, options }, { account, gateway }, services);
	const explained: ExplainedModel[] = [];
	for (const id of models) explained.push(await explainedModel(compatName(id), explain, services));
	return {
		model,
		pool: {
			gateway,
			...(ranking && { reason: ranking.reason, tier: ranking.tier, unsuited: ranking.unsuited }),
			models: explained,
		},
	};
}
