/**
 * `POST …/v1/alpha/search`, with which Codex searches for models that have no hosted tools. In a gateway if the request names one, or its
 * token binds one.
 */
import type { Context } from "hono";
import { onFirstUse } from "../../core/lazy.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { optionsInHeaders } from "../../gateways/options.ts";
import type { GatewayStep, StepPlan } from "../../gateways/request.ts";
import { gatewayOfHeaders } from "../../gateways/run/model-in-gateway.ts";
import { type PlanContext, runInGateway } from "../../gateways/run/run-in-gateway.ts";
import { storedKeys } from "../../gateways/run/stored-keys.ts";
import { usageObserver } from "../../gateways/run/usage-observer.ts";
import { readJson } from "../../http/body.ts";
import { responsesFailure } from "../../http/failure-formats.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";

const PATH = "alpha/search";

const room = onFirstUse(() => import("../../websearch/hosted/standalone-search.ts"));

export const STANDALONE_SEARCH: readonly AppRouteDeclaration[] = [
	{
		method: "POST",
		path: `/${PATH}`,
		summary: "Runs the searches of Codex",
		input: {
			type: "application/json",
			example: {
				id: "search-1",
				model: "gpt-5.6-luna",
				commands: { search_query: [{ q: "Durable Objects" }] },
			},
		},
		output: answer("standaloneSearchAnswer"),
		failure: responsesFailure,
		permission: "run",
		handler: searchForCodex,
	},
];

async function searchForCodex(c: Context, call: AppCall): Promise<Response> {
	const { caller, id, services } = call;
	const { headers, signal } = c.req.raw;
	const { StandaloneSearch, runStandaloneSearch } = await room();
	const body = validate(StandaloneSearch(), await readJson(c.req.raw, services));
	const named = gatewayOfHeaders(headers);
	if (named === undefined && !caller.identity?.gateway)
		return Response.json(await runStandaloneSearch(body, { caller, signal }, services));
	const plan = async function* (context: PlanContext): StepPlan {
		const { account, caller: inGateway, exchange, options, settings } = context;
		const usage = usageObserver(exchange);
		const searchKeys = { find: storedKeys(account, settings, services), used: usage.used };
		const step: GatewayStep = {
			provider: "websearch",
			endpoint: PATH,
			body: { contentType: "application/json", content: { json: body.commands ?? {} } },
			format: "web-search",
			plane: "run",
			providerKey: undefined,
			options,
			call: async (stepSignal) =>
				Response.json(
					await runStandaloneSearch(
						body,
						{ caller: inGateway, signal: stepSignal, observers: [usage] },
						{ ...services, searchKeys },
					),
				),
		};
		yield { step, index: 0 };
	};
	return runInGateway(
		{
			...{ caller, gateway: named, plan, signal },
			options: optionsInHeaders(headers),
			source: sourceOf("REST", headers),
			failure: (error) => responsesFailure(error, id),
		},
		services,
	);
}
