/** One of OpenAI's or Anthropic's routes, and how it runs a model. */
import type { Context } from "hono";
import type { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { sourceOf } from "../../gateways/exchange.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { type FailureFormat, messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { Call } from "../../http/route.ts";
import type { Inputs } from "../../pipeline/request.ts";
import type { run } from "../../pipeline/run.ts";
import { gatewayInHeaders, readInGateway, runModel } from "../gateway/model-in-gateway.ts";
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

interface ReadRequest {
	model: string;
	inputs: Inputs;
}

/** Runs the model, in the gateway of `cf-aig-gateway-id`. */
export function infer(
	c: Context,
	call: Call,
	{ route, read }: { route: OpenaiRoute; read(): Promise<ReadRequest> },
): Promise<Response> {
	const { id, caller, services } = call;
	const { headers, signal } = c.req.raw;
	return readInGateway(
		{
			id,
			caller,
			signal,
			endpoint: endpointOf(c),
			source: sourceOf("REST", headers),
			gateway: () => gatewayInHeaders(headers, ""),
			failure: failureOf(c, route),
			read,
			run: (request) => runRead(c, call, { route, ...request }),
		},
		services,
	);
}

const endpointOf = (c: Context): string => c.req.path.slice(c.req.path.indexOf("v1/"));

const failureOf =
	(c: Context, { failure = openAiFailure }: OpenaiRoute) =>
	(error: AiError, requestId: string): Response =>
		failure(error, requestId, c.req);

function runRead(
	c: Context,
	{ id, caller, services }: Call,
	{ route, model, inputs }: { route: OpenaiRoute } & ReadRequest,
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
	const alsoId = route.failure === messagesFailure ? "request-id" : "x-request-id";
	return runModel(
		{
			request,
			run: route.run,
			endpoint: endpointOf(c),
			source: sourceOf("REST", headers),
			format: "openai",
			respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare, { alsoId }),
			failure: failureOf(c, route),
		},
		gatewayInHeaders(headers, model),
		services,
	);
}
