/**
 * Where the endpoint of a step leads: a route of OpenAI's or Anthropic's API, a method of Gemini's, or a native model of Workers AI.
 * The head of `gateway.ts` has the providers.
 */
import { loadDialect } from "../../dialects/index.ts";
import { decodedPath } from "../../gateways/providers/model-in-path.ts";
import { WORKERS_AI } from "../../gateways/request.ts";
import { WRAPS } from "../../http/envelope.ts";
import type { AppServices } from "../../http/services.ts";
import type { InferenceRequest, Inputs } from "../../pipeline/request.ts";
import { type GeminiCall, splitMethod } from "../gemini/gemini-call.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import type { OpenaiRoute } from "../openai/openai-route.ts";
import { onlyFor, type RunModel, requireModel } from "../openai/route-dialect.ts";
import { authorOfSlug, COMPAT, compatModel, invalidProvider } from "./provider-names.ts";
import type { Step } from "./step.ts";

/** Parses Google's `v1beta/models/{model}:{method}`, also without `models/`. `undefined` for other steps. */
export function geminiMethod({
	provider,
	endpoint,
}: Step): Pick<GeminiCall, "model" | "method" | "sse"> | undefined {
	const [path = "", query] = endpoint.split("?", 2);
	const [, modelMethod] = /^\/*v1(?:beta)?\/(?:models\/(?:google\/)?|google\/)(.+)$/.exec(path) ?? [];
	if (provider !== "google-ai-studio" || modelMethod === undefined) return undefined;
	const { model, method } = splitMethod(decodedPath(modelMethod));
	const sse = new URLSearchParams(query).get("alt") === "sse";
	return { model: `${authorOfSlug(provider)}/${model}`, sse, ...(method !== undefined && { method }) };
}

interface StepRoute {
	model: string;
	dialect: InferenceRequest["dialect"];
	inputs: Inputs;
	wrap(json: string): string;
	run?: RunModel | undefined;
}

const pathOf = ({ endpoint }: Pick<Step, "endpoint">): string =>
	endpoint.replace(/^\/+/, "").split("?", 1)[0] ?? "";

/** Callers write the path with or without the version of the provider's API. */
const routeAt = (path: string): OpenaiRoute | undefined =>
	OPENAI_ROUTES[`/${path.replace(/^v1(?:beta\/openai)?\//, "")}`];

/** Whether callers of the step's path use OpenAI's SDKs, which read only OpenAI's `error`. */
export const hasOpenAiFailures = (step: Pick<Step, "provider" | "endpoint">): boolean =>
	step.provider === "openai" || step.provider === COMPAT || routeAt(pathOf(step)) !== undefined;

export const isModelRoute = (step: Step): boolean =>
	step.sent.method === "POST" && (geminiMethod(step) !== undefined || routeAt(pathOf(step)) !== undefined);

export function routeOf(step: Step, services: AppServices): StepRoute {
	const { provider, inputs } = step;
	const path = pathOf(step);
	const route = routeAt(path);
	if (provider === WORKERS_AI) {
		if (route && path.startsWith("v1/")) return openaiStep(route, inputs, (model) => model);
		const model = decodedPath(path.replace(/^run\//, ""));
		return { model, dialect: loadDialect, inputs, wrap: WRAPS.envelope };
	}
	if (!route) throw invalidProvider(path, `is not a route of ${COMPAT}`);
	if (provider === COMPAT) return openaiStep(route, inputs, (name) => compatModel(name, services));
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
