/** One of OpenAI's or Anthropic's routes: its format, the models that it takes, and how it runs one. */
import type { Context } from "hono";
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import { anthropicMessages } from "../../dialects/messages/messages.ts";
import { optionsInHeaders } from "../../gateways/options.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { type FailureFormat, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { Call } from "../../http/route.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { TaskTitle } from "../../models/tasks.ts";
import type { Inputs } from "../../pipeline/request.ts";
import type { run } from "../../pipeline/run.ts";
import { gatewayOfHeaders, runModel } from "../gateway/model-in-gateway.ts";

/** The format of a route, and the models that it takes. */
export interface RouteDialect {
	dialect: Dialect;
	/** The task, in the catalogue, of the models that the route takes. */
	task: TaskTitle;
	/** For a route that takes only some models of its task. */
	accepts?(model: Model): boolean;
}

export interface OpenaiRoute extends RouteDialect {
	/** One line of the OpenAPI document. */
	summary: string;
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
			format: "openai",
			respond: (reply, requestId) => replyResponse(reply, requestId, WRAPS.bare, { alsoId }),
			failure: (error, requestId) => (route.failure ?? openAiFailure)(error, requestId, c.req),
		},
		{ id: gatewayOfHeaders(headers, model), options: optionsInHeaders(headers) },
		services,
	);
}

/** The dialect of a route, for models of its task and for ad hoc models, whose task is unknown. */
export const onlyFor =
	({ dialect, task, accepts }: RouteDialect) =>
	(model: Model): Dialect => {
		const { decides } = inputFamily(model);
		const isAccepted = model.task === task && !decides && (accepts?.(model) ?? true);
		if (isAccepted || model.status === "adhoc") return dialect;
		const reason = decides ? "it decides and does not chat, at /ai/run" : `its task is ${model.task}`;
		throw new AiError("noSuchModel", `No such model ${model.id} or task: ${reason}`);
	};
