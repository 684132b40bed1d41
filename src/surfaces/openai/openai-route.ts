/**
 * The routes of OpenAI, Anthropic and others that have one dialect for all models: their declarations, with a JSON body or with a form, and
 * how they run a model.
 */
import type { Context } from "hono";
import { isRecord } from "../../core/json.ts";
import { badInput } from "../../dialects/invalid-input.ts";
import { parseMultipart } from "../../dialects/media/multipart.ts";
import { onlyFor, type RouteDialect, requireModel } from "../../dialects/route-dialect.ts";
import { gatewayInHeaders, type RunModel, runModel } from "../../gateways/run/model-in-gateway.ts";
import { readBody, readJson } from "../../http/body.ts";
import type { CredentialLocation } from "../../http/credentials.ts";
import { replyResponse, WRAPS } from "../../http/envelope.ts";
import { type FailureFormat, messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import { BY_MODEL } from "../../http/route.ts";
import type { InferenceRequest } from "../../pipeline/request.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";

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

/** `named`: the model, if the path names it. Absent: the body does. */
export type RunRoute = (c: Context, call: AppCall, named?: string) => Promise<Response>;

/** Runs a request with a JSON body. */
export const runJson =
	(route: OpenaiRoute): RunRoute =>
	async (c, call, named) => {
		const reading = readJson(c.req.raw, call.services).then((sent) =>
			requireModel(withModel(sent, named, route)),
		);
		if (route.intercept) {
			// A request that cannot be read has a log in its gateway, too.
			const fields = await reading.catch(() => undefined);
			const intercepted = fields && route.intercept(c, call, fields);
			if (intercepted) return intercepted;
		}
		return infer(c, call, {
			route,
			read: async () => {
				const sent = await reading;
				const fields = route.withHeaders?.(sent, c.req.raw.headers) ?? sent;
				return { model: route.modelOf?.(sent.model) ?? sent.model, inputs: { fields } };
			},
		});
	};

/** The model of the path, that of the body, or that of the route. */
function withModel(sent: unknown, named: string | undefined, { defaultModel }: OpenaiRoute): unknown {
	if (!isRecord(sent)) return sent;
	const model = named ?? (sent.model == null ? defaultModel : undefined);
	return model === undefined ? sent : { ...sent, model };
}

/** Runs a request with a form. */
export const runForm =
	(route: OpenaiRoute): RunRoute =>
	(c, call, named) =>
		infer(c, call, {
			route,
			read: async () => {
				const { limits } = call.services;
				const contentType = c.req.header("content-type") ?? "";
				const bytes = await readBody(c.req.raw, limits.uploadBytes, call.services);
				const model = named ?? (await parseMultipart(bytes, contentType)).text("model");
				if (!model) throw badInput("required properties at '/' are 'model'");
				return { model, inputs: { fields: {}, body: { bytes, contentType } } };
			},
		});

export function dialectRoute(path: string, route: OpenaiRoute): AppRouteDeclaration {
	return {
		method: "POST",
		path,
		summary: route.summary,
		permission: "run",
		lazy: true,
		...(route.credentials && { credentials: route.credentials }),
		input: { ...BY_MODEL, example: route.example },
		output: BY_MODEL,
		handler: runJson(route),
	};
}

export function formRoute(path: string, route: OpenaiRoute): AppRouteDeclaration {
	return {
		...dialectRoute(path, route),
		input: { type: "multipart/form-data", schema: "by-model", example: route.example },
		handler: runForm(route),
	};
}

interface RouteRun {
	route: OpenaiRoute;
	/** Reads the body: in the gateway, so that a request that cannot be read has a log, too. */
	read(): Promise<Pick<InferenceRequest, "model" | "inputs">>;
}

/** Runs the model, in the gateway of `cf-aig-gateway-id`. */
export function infer(c: Context, call: AppCall, { route, read }: RouteRun): Promise<Response> {
	const { id, caller, services } = call;
	const { path, raw } = c.req;
	const { headers, signal } = raw;
	const { failure = openAiFailure } = route;
	const dialect = onlyFor(route);
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
