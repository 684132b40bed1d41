/** One of OpenAI's or Anthropic's routes, and how it runs a model. */
import type { Context } from "hono";
import { isRecord } from "../../core/json.ts";
import type { RouteDialect } from "../../dialects/route-dialect.ts";
import { gatewayInHeaders, type RunModel, runModel } from "../../gateways/run/model-in-gateway.ts";
import type { CredentialLocation } from "../../http/credentials.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { type FailureFormat, messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { InferenceRequest } from "../../pipeline/request.ts";
import type { AppCall } from "../route.ts";

export interface OpenaiRoute extends RouteDialect {
	/** One line of the OpenAPI document. */
	summary: string;
	/** A valid body, for the OpenAPI document. */
	example?: unknown;
	/** Absent: OpenAI's format. */
	failure?: FailureFormat;
	/** Adds fields of the API that callers send as headers. */
	withHeaders?(fields: Record<string, unknown>, headers: Headers): Record<string, unknown>;
	/** Answers some requests itself. `undefined`: the model runs. */
	intercept?(c: Context, call: AppCall, fields: { model: string }): Promise<Response> | undefined;
	/** Instead of those of the group. */
	credentials?: readonly CredentialLocation[];
	/** Adds to the fields what the request only names. */
	complete?(fields: { model: string }, call: AppCall): Promise<{ model: string }>;
	/** For a body that names none. */
	defaultModel?: string;
	/** The model, if a body may name it in another form. */
	modelOf?(named: string): string;
	/** `run` may make several requests of one, each with a plan of its own. */
	splits?: true;
	/** For a route that splits a request into several, or whose callers may send a hosted tool. */
	run?: RunModel;
}

interface RouteRun {
	route: OpenaiRoute;
	/** Of the route, for the models that it takes. */
	dialect: InferenceRequest["dialect"];
	read(): Promise<Pick<InferenceRequest, "model" | "inputs">>;
}

/** Runs the model, in the gateway of `cf-aig-gateway-id`. */
export function infer(c: Context, call: AppCall, { route, dialect, read }: RouteRun): Promise<Response> {
	const { id, caller, services } = call;
	const { path, raw } = c.req;
	const { headers, signal } = raw;
	const { failure = openAiFailure } = route;
	const alsoId = failure === messagesFailure ? "request-id" : "x-request-id";
	return runModel(
		{
			id,
			caller,
			signal,
			endpoint: () => path.slice(path.search(/(?:v1(?:beta)?|openai\/deployments)\//)),
			format: () => "openai",
			async read() {
				const { model, inputs: sent } = await read();
				const fields = route.complete
					? await route.complete(sent.fields as { model: string }, call)
					: sent.fields;
				const inputs = { ...sent, fields };
				const options = isRecord(fields) ? fields.options : undefined;
				return inferenceRequest({ id, caller, model, dialect, inputs, signal, headers, fields, options });
			},
			gateway: (model) => gatewayInHeaders(headers, model),
			run: route.run,
			respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare, { alsoId }),
			failure: (error, requestId) => failure(error, requestId, c.req),
		},
		services,
	);
}
