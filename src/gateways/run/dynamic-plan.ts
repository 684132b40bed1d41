/**
 * A request to a dynamic route (`dynamic/{name}`): the elements of its deployed version choose the models, which are called through
 * `compat`. An answer that a later model replaces is dropped.
 */
import { AiError } from "../../core/errors.ts";
import type { LimitedWindow } from "../durable/gateway.ts";
import type { RequestFacts } from "../dynamic/conditions.ts";
import type { ModelElement } from "../dynamic/elements.ts";
import { walk } from "../dynamic/walk.ts";
import { costOf } from "../logs/cost.ts";
import type { GatewayOptions } from "../options.ts";
import type { GatewayStep, PlannedStep } from "../request.ts";
import type { GatewayServices } from "../services.ts";
import { DYNAMIC_ROUTE } from "./provider-names.ts";
import type { PlanContext } from "./run-in-gateway.ts";

export interface DynamicRequest {
	/** The route's name. */
	name: string;
	facts: RequestFacts;
	/** Index of the universal request's step. */
	index: number;
	/** A step that calls `{provider}/{model}` through `compat`, with these options in front of the request's own. */
	stepFor(model: string, options: GatewayOptions): GatewayStep;
}

/**
 * Returns the answer of the last model. Throws 7003 for an unknown route, 2003 if a limit without a fallback is used up, and 2008
 * without a model.
 */
export async function* dynamicPlan(
	{ name, facts, index, stepFor }: DynamicRequest,
	{ account, settings, exchange }: PlanContext,
	{
		deployedRoutes,
		gatewayLimits,
		random,
	}: Pick<GatewayServices, "deployedRoutes" | "gatewayLimits" | "random">,
): AsyncGenerator<PlannedStep, Response | undefined, Response | undefined> {
	const gateway = settings.id;
	const route = await deployedRoutes.find({ account, gateway, name });
	if (!route) throw routeNotFound(gateway, name);
	exchange.report({ route: name });
	let last: GatewayStep | undefined;
	const steps = walk(route.elements, {
		facts,
		random,
		admit: async ({ id, properties: { limit, limitType, window } }, value) => {
			const counted: LimitedWindow = {
				key: JSON.stringify([route.id, id, limitType, window, value]),
				limit,
				unit: limitType,
				windowMs: window * 1_000,
				technique: "fixed",
			};
			const full = await gatewayLimits.take({ account, settings }, [counted]);
			if (full === undefined && limitType === "cost")
				exchange.observe((_, end) =>
					gatewayLimits.spend({ account, settings }, [counted], costOf(end, last?.options ?? {}) ?? 0),
				);
			return full === undefined;
		},
	});
	let response: Response | undefined;
	let next = await steps.next(false);
	while (!next.done) {
		const { properties, outputs } = next.value;
		await response?.body?.cancel();
		last = {
			...stepFor(`${properties.provider}/${properties.model}`, optionsOf(next.value)),
			...named(properties),
		};
		response = yield { step: last, index, hasFallback: outputs.fallback !== undefined };
		next = await steps.next(response?.ok ?? false);
	}
	if (next.value === "limited") throw new AiError("gatewayLimited");
	if (!response)
		throw new AiError(
			"invalidProvider",
			`Invalid provider: ${DYNAMIC_ROUTE}${name} ends without a model for this request`,
		);
	return response;
}

/** 7003. A new route has no deployed version, so it is not found either. */
export const routeNotFound = (gateway: string, name: string): AiError =>
	new AiError(
		"unknownThirdPartyModel",
		`Model not found: ${DYNAMIC_ROUTE}${name.slice(0, 64).toWellFormed()} (the gateway ${gateway} has no deployed route of this name)`,
	);

/** The log and the headers name the provider that answers, not `compat`. */
const named = ({ provider, model }: ModelElement["properties"]) => ({ provider, model });

const optionsOf = ({ properties: { timeout, retries } }: ModelElement): GatewayOptions => ({
	...(timeout && { requestTimeout: timeout }),
	...(retries !== undefined && { maxAttempts: retries + 1 }),
});
