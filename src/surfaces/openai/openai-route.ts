/** One of OpenAI's or Anthropic's routes, and how it runs a model. */
import type { Context } from "hono";
import { isRecord } from "../../core/json.ts";
import { anthropicMessages } from "../../dialects/messages/messages.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { type FailureFormat, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { Call } from "../../http/route.ts";
import type { Inputs } from "../../pipeline/request.ts";
import type { run } from "../../pipeline/run.ts";
import { gatewayInHeaders, runModel } from "../gateway/model-in-gateway.ts";
import { onlyFor, type RouteDialect } from "./route-dialect.ts";

export interface OpenaiRoute extends RouteDialect {
	/** One line of the OpenAPI document. */
	summary: string;
	/** A valid body, for the OpenAPI document. */
	example?: unknown;
	/** Absent: OpenAI's format. */
	failure?: FailureFormat;
	/** For a route that splits a request into several. */
	run?: typeof run;
}

/** Runs the model, in the gateway of `cf-aig-gateway-id`. */
export async function infer(
	c: Context,
	{ id, caller, services }: Call,
	{ route, model, inputs }: { route: OpenaiRoute; model: string; inputs: Inputs },
): Promise<Response> {
	const { headers, signal } = c.req.raw;
	const { fields } = inputs;
	const options = isRecord(fields) ? fields.options : undefined;
	const sources = { headers, fields, options };
	const request = inferenceRequest({
		id,
		caller,
		model,
		dialect: onlyFor(route),
		inputs,
		signal,
		...sources,
	});
	const alsoId = route.dialect === anthropicMessages ? "request-id" : "x-request-id";
	return runModel(
		{
			request,
			run: route.run,
			endpoint: c.req.path.slice(c.req.path.indexOf("v1/")),
			source: sourceOf("REST", headers),
			format: "openai",
			respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare, { alsoId }),
			failure: (error, requestId) => (route.failure ?? openAiFailure)(error, requestId, c.req),
		},
		gatewayInHeaders(headers, model),
		services,
	);
}
