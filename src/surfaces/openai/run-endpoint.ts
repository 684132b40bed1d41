/**
 * The option `openaiEndpoint` of `run`, on the binding and over RPC: the input and the answer have the format of this endpoint. The package
 * `agents` sends it for the models of providers. It has no effect for models of Workers AI, whose format is their own.
 */
import { isRecord } from "../../core/json.ts";
import { own } from "../../core/own.ts";
import { badInput, invalidInput } from "../../dialects/invalid-input.ts";
import { onlyFor } from "../../dialects/route-dialect.ts";
import type { RunModel } from "../../gateways/run/model-in-gateway.ts";
import type { InferenceRequest } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import { OPENAI_ROUTES } from "./openai.ts";
import type { OpenaiRoute } from "./openai-route.ts";

const ENDPOINTS: readonly string[] = ["/chat/completions", "/messages", "/responses"];
const VERSION = "/v1";

const WORKERS_AI_ID = /^@(?:cf|hf)\//;

/** The name of the format of a run's answers. `options`: of the call. */
export const runFormat = (options: unknown): string =>
	isRecord(options) && typeof options.openaiEndpoint === "string"
		? `binding ${options.openaiEndpoint}`
		: "binding";

type Formatted = Pick<InferenceRequest, "model" | "inputs" | "dialect">;

/** `options`: of the call. The model is added to the input, because these formats require it there. Throws 5006 and 8001. */
export function inEndpointFormat(request: Formatted, options: unknown): Formatted {
	const { model, inputs } = request;
	const route = endpointRoute(model, options);
	if (!route) return request;
	if (!isRecord(inputs.fields) || inputs.body)
		throw badInput("with openaiEndpoint, the input is one JSON object");
	return { model, inputs: { ...inputs, fields: { ...inputs.fields, model } }, dialect: onlyFor(route) };
}

/** Runs a request in the format of its endpoint like the endpoint itself: with its hosted tools and its stored responses. */
export const endpointRun =
	(model: string, options: unknown): RunModel =>
	(request, services) =>
		(endpointRoute(model, options)?.run ?? run)(request, services);

/** `undefined`: the format is that of the model. Throws 5006. */
function endpointRoute(model: string, options: unknown): OpenaiRoute | undefined {
	const endpoint = isRecord(options) ? (options.openaiEndpoint ?? undefined) : undefined;
	if (endpoint === undefined || WORKERS_AI_ID.test(model)) return undefined;
	const path = ENDPOINTS.find((known) => endpoint === `${VERSION}${known}`);
	const route = own(OPENAI_ROUTES, path);
	if (route) return route;
	const known = ENDPOINTS.map((each) => `${VERSION}${each}`);
	throw invalidInput(`options.openaiEndpoint: expected ${known.join(", ")}`);
}
