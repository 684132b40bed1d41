/**
 * AI Gateway's steps: `{provider, endpoint, headers, query}`, tried in order until one succeeds. Each step runs through the
 * pipeline like a request of any other surface. Provider `workers-ai` answers like REST: native models in the v4 envelope,
 * OpenAI's routes without it, events and bytes unchanged. For another provider, the routes for chat, responses, embeddings
 * and Messages run the model `{author}/{model}`, which PROVIDER_KEYS or ROUTES serve. `google-ai-studio` also has Gemini's
 * methods. `compat` is OpenAI's API for model ids with a provider: `workers-ai/@cf/…`, `openai/…`.
 *
 * Differences from the product: the provider key of the request is ignored; other routes of a provider are refused (2008).
 * The session headers of a step are used (`request-options.ts`).
 */
import * as z from "zod";
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { Dialect } from "../../dialects/dialect.ts";
import { nativeDialect } from "../../dialects/index.ts";
import { validate } from "../../dialects/validation/validation.ts";
import type { GatewayExchange } from "../../gateways/exchange.ts";
import {
	type GatewayOptions,
	mergedOptions,
	optionsInConfig,
	optionsInHeaders,
} from "../../gateways/options.ts";
import type { GatewayStep, StepPlan } from "../../gateways/request.ts";
import { failureEnvelope, replyResponse, WRAPS } from "../../http/envelope.ts";
import { geminiFailure, messagesFailure } from "../../http/failure-formats.ts";
import { requireModel } from "../../http/model-body.ts";
import { headersIn, inferenceRequest } from "../../http/request-options.ts";
import type { Model } from "../../models/model.ts";
import type { Caller, Inputs } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";
import { callGemini, type GeminiCall, splitMethod } from "../gemini/gemini-call.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import type { OpenaiRoute } from "../openai/openai-route.ts";
import { onlyFor } from "../openai/route-dialect.ts";
import { type DynamicRequest, dynamicPlan, dynamicRouteName } from "./dynamic-plan.ts";
import { gatewayFailure } from "./gateway-failure.ts";
import { stepBody } from "./model-in-gateway.ts";
import { authorOfSlug, compatModel, WORKERS_AI } from "./provider-names.ts";
import { type PlanContext, runInGateway } from "./run-in-gateway.ts";
import { usageObserver } from "./usage-observer.ts";

const OPTION_HEADER = /^cf-(?:aig-[\w-]+|cache-ttl|skip-cache)$/i;
const VISIBLE = /^[\x20-\x7e]*$/;

export interface Step {
	provider: string;
	/** A path relative to the provider's address. */
	endpoint: string;
	/** From the step's own headers and `config`. */
	options: GatewayOptions;
	/** Only the headers that `request-options.ts` reads. */
	headers: Headers;
	inputs: Inputs;
}

const StepSchema = z
	.object({
		provider: z.string(),
		endpoint: z.string(),
		headers: z.record(z.string(), z.unknown()).nullish(),
		query: z.unknown(),
		config: z.unknown().optional(),
	})
	.transform(({ provider, endpoint, headers, query, config }): Step => {
		const options = mergedOptions(optionsInHeaders(headersOf(headers ?? {})), optionsInConfig(config));
		return { provider, endpoint, options, headers: headersIn(headers), inputs: { fields: query } };
	});

/** The headers with options. A value may be a number, a boolean or an object. */
export function headersOf(record: Record<string, unknown>): Headers {
	const headers = new Headers();
	for (const [name, value] of Object.entries(record)) {
		const text = typeof value === "string" ? value : JSON.stringify(value);
		if (OPTION_HEADER.test(name) && text !== undefined && VISIBLE.test(text)) headers.set(name, text);
	}
	return headers;
}

/** The product documents no limit. Without one, a single request could contain any number of runs. */
const MAX_STEPS = 32;

export const Steps = z.array(StepSchema).min(1).max(MAX_STEPS);

/** The body of a universal request. Throws 5006. */
export const readSteps = (body: unknown): Step[] => validate(Steps, Array.isArray(body) ? body : [body]);

export interface StepsContext {
	caller: Caller;
	gateway: string;
	/** Of the request. The options of a step have precedence. */
	options: GatewayOptions;
	signal: AbortSignal;
	services: Services;
}

/** Never throws. When all steps fail, the response is the failure of the last one. */
export async function runSteps(
	read: () => Step[] | Promise<Step[]>,
	context: StepsContext,
): Promise<Response> {
	try {
		const steps = await read();
		const plan = (gateway: PlanContext) => stepPlan(steps, context, gateway);
		return await runInGateway({ ...context, plan, failure: gatewayFailure }, context.services);
	} catch (error) {
		return gatewayFailure(toAiError(error));
	}
}

/** Tries the steps in order until one succeeds. A step of `compat` may name a dynamic route. */
async function* stepPlan(steps: readonly Step[], context: StepsContext, gateway: PlanContext): StepPlan {
	for (const [index, step] of steps.entries()) {
		const dynamic = dynamicRequest(step, index, context);
		const response = dynamic
			? yield* dynamicPlan(dynamic, gateway, context.services)
			: yield { step: gatewayStep(step, context), index, hasFallback: index < steps.length - 1 };
		if (response?.ok) return;
	}
}

function dynamicRequest(step: Step, index: number, context: StepsContext): DynamicRequest | undefined {
	const { provider, inputs, options, headers } = step;
	const body = isRecord(inputs.fields) ? inputs.fields : {};
	const name = provider === "compat" ? dynamicRouteName(body.model) : undefined;
	if (name === undefined) return undefined;
	const metadata = mergedOptions(options, context.options).metadata ?? {};
	return {
		name,
		index,
		facts: { metadata, body, headers: Object.fromEntries(headers) },
		stepFor: (model, modelOptions) =>
			gatewayStep(
				{ ...step, inputs: { fields: { ...body, model } }, options: mergedOptions(modelOptions, options) },
				context,
			),
	};
}

const gatewayStep = (step: Step, context: StepsContext): GatewayStep => ({
	provider: step.provider,
	endpoint: step.endpoint,
	body: stepBody(step.inputs),
	// Provider and endpoint decide the rest of the format. Only the operator's keys are used.
	format: "gateway",
	plane: "gateway",
	providerKey: undefined,
	options: mergedOptions(step.options, context.options),
	call: (signal, exchange) => answer(step, { ...context, signal }, exchange),
});

async function answer(
	step: Step,
	{ caller, signal, services }: StepsContext,
	exchange: GatewayExchange,
): Promise<Response> {
	const id = services.uuid();
	const gemini = geminiMethod(step);
	const observers = [usageObserver(exchange)];
	try {
		const { headers } = step;
		if (gemini)
			return await callGemini(
				{ ...gemini, id, caller, fields: step.inputs.fields, headers, signal, observers },
				services,
			);
		const { model, dialect, inputs, wrap, run: runRoute = run } = routeOf(step);
		exchange.report({ model });
		const { fields } = inputs;
		const sources = { id, caller, model, dialect, inputs, signal, headers, fields, observers };
		return replyResponse(await runRoute(inferenceRequest(sources), services), id, wrap);
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, id);
		if (gemini) return geminiFailure(error, id);
		if (step.provider === "anthropic") return messagesFailure(error, id);
		return error.failure.plane === "gateway" ? gatewayFailure(error, id) : failureEnvelope(error, id);
	}
}

/** Parses Google's `v1beta/models/{model}:{method}`. `undefined` for other steps. */
function geminiMethod({
	provider,
	endpoint,
}: Step): Pick<GeminiCall, "model" | "method" | "sse"> | undefined {
	const [path = "", query] = endpoint.split("?", 2);
	const [, modelMethod] = /^\/*v1(?:beta)?\/models\/(.+)$/.exec(path) ?? [];
	if (provider !== "google-ai-studio" || modelMethod === undefined) return undefined;
	const { model, method } = splitMethod(decoded(modelMethod));
	const sse = new URLSearchParams(query).get("alt") === "sse";
	return { model: `${authorOfSlug(provider)}/${model}`, sse, ...(method !== undefined && { method }) };
}

interface StepRoute {
	model: string;
	dialect(model: Model): Dialect;
	inputs: Inputs;
	wrap(json: string): string;
	run?: typeof run | undefined;
}

function routeOf({ provider, endpoint, inputs }: Step): StepRoute {
	const path = endpoint.replace(/^\/+/, "").split("?", 1)[0] ?? "";
	// Callers write the path with or without the version of the provider's API.
	const route = OPENAI_ROUTES[`/${path.replace(/^v1(?:beta\/openai)?\//, "")}`];
	if (provider === WORKERS_AI) {
		if (route && path.startsWith("v1/")) return openaiStep(route, inputs, (model) => model);
		const model = decoded(path.replace(/^run\//, ""));
		return { model, dialect: nativeDialect, inputs, wrap: WRAPS.envelope };
	}
	if (!route) throw new AiError("invalidProvider");
	if (provider === "compat") return openaiStep(route, inputs, compatModel);
	const author = authorOfSlug(provider);
	return openaiStep(route, inputs, (model) => `${author}/${model}`);
}

/** A step on one of OpenAI's or Anthropic's routes. `idOf` converts the `model` of the body to an id of the catalogue. */
function openaiStep(route: OpenaiRoute, { fields }: Inputs, idOf: (model: string) => string): StepRoute {
	const body = requireModel(fields);
	const model = idOf(body.model);
	const inputs = { fields: { ...body, model } };
	return { model, dialect: onlyFor(route), inputs, wrap: WRAPS.bare, run: route.run };
}

/** SDKs write the slashes of a model's id as `%2F`. */
function decoded(path: string): string {
	try {
		return decodeURIComponent(path);
	} catch {
		return path;
	}
}
