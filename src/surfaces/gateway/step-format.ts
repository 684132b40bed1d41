/**
 * The format of a step that runs a model. Provider `workers-ai` answers like REST: native models in the v4 envelope, OpenAI's routes
 * without it, events and bytes unchanged. For another provider, the routes for chat, responses, embeddings and Messages run the model
 * `{author}/{model}`, which PROVIDER_KEYS or ROUTES serve. `google-ai-studio` also has Gemini's methods. `compat` is OpenAI's API for
 * model ids with a provider: `workers-ai/@cf/…`, `openai/…`, `acme/chat`. The session headers of a step are used
 * (`request-options.ts`).
 */
import * as z from "zod";
import { asQuestion } from "../../core/did-you-mean.ts";
import { AiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { loadDialect } from "../../dialects/index.ts";
import { asInputFailure } from "../../dialects/invalid-input.ts";
import { onlyFor, requireModel } from "../../dialects/route-dialect.ts";
import { validate } from "../../dialects/validation/validation.ts";
import { decodedPath } from "../../gateways/providers/model-in-path.ts";
import { WORKERS_AI } from "../../gateways/request.ts";
import type { RunModel } from "../../gateways/run/model-in-gateway.ts";
import {
	authorOfSlug,
	COMPAT,
	compatModel,
	invalidProvider,
	servedId,
} from "../../gateways/run/provider-names.ts";
import type { Step, StepFormat } from "../../gateways/run/step.ts";
import type { GatewayServices } from "../../gateways/services.ts";
import { failureEnvelope, replyResponse, WRAPS } from "../../http/envelope.ts";
import { geminiFailure, messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { InferenceRequest, Inputs } from "../../pipeline/request.ts";
import { run as runModel } from "../../pipeline/run.ts";
import { callGemini, type GeminiCall, splitMethod } from "../gemini/gemini-call.ts";
import { OPENAI_ROUTES } from "../openai/openai.ts";
import type { OpenaiRoute } from "../openai/openai-route.ts";
import { gatewayFailure } from "./gateway-failure.ts";

/** Parses Google's `v1beta/models/{model}:{method}`, also without `models/`. `undefined` for other steps. */
function geminiMethod({
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

export function formatOf(step: Step): StepFormat {
	const gemini = geminiMethod(step);
	const { headers, inputs } = step;
	return {
		isModelRoute:
			step.sent.method === "POST" && (gemini !== undefined || routeAt(pathOf(step)) !== undefined),
		modelId: (services) => gemini?.model ?? routeOf(step, services).model,
		async run(run, services) {
			const { caller, id } = run;
			if (gemini) {
				const model = await servedId(gemini.model, caller, services);
				return callGemini({ ...run, ...gemini, model, headers, fields: inputs.fields }, services);
			}
			const { model: named, wrap, run: runRoute = runModel, ...route } = routeOf(step, services);
			const model = await servedId(named, caller, services);
			const request = inferenceRequest({ ...run, ...route, model, headers, fields: route.inputs.fields });
			return replyResponse(await runRoute(request, services), id, wrap);
		},
		// The SDKs of some providers read only their own format.
		failure(error, requestId) {
			if (gemini) return geminiFailure(error, requestId);
			if (step.provider === "anthropic") return messagesFailure(error, requestId);
			if (error.failure.plane === "gateway") return gatewayFailure(error, requestId);
			return hasOpenAiFailures(step) ? openAiFailure(error, requestId) : failureEnvelope(error, requestId);
		},
	};
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

function routeOf(step: Step, services: GatewayServices): StepRoute {
	const { provider, inputs } = step;
	const path = pathOf(step);
	const route = routeAt(path);
	if (provider === WORKERS_AI) {
		if (route && path.startsWith("v1/")) return openaiStep(route, inputs, (model) => model);
		const model = decodedPath(path.replace(/^run\//, ""));
		// The caller's base address lacks the version.
		if (route && isRecord(inputs.fields) && typeof inputs.fields.model === "string")
			throw new AiError("unknownThirdPartyModel", `Model not found: ${model}${asQuestion(`v1/${path}`)}`);
		return { model, dialect: loadDialect, inputs, wrap: WRAPS.envelope };
	}
	if (!route) throw invalidProvider(path, `is not a route of ${COMPAT}`);
	if (provider === COMPAT) {
		if (route === OPENAI_ROUTES["/chat/completions"]) requireChat(inputs.fields);
		return openaiStep(route, inputs, (name) => compatModel(name, services));
	}
	const author = authorOfSlug(provider);
	return openaiStep(route, inputs, (model) => `${author}/${model}`);
}

const ChatBody = lazy(() => z.looseObject({ model: z.string().min(1), messages: z.array(z.unknown()) }));

/** `compat` checks the form of a chat that the gateway runs. One for a custom provider is passed on unread. Throws 2019. */
function requireChat(fields: unknown): void {
	try {
		validate(ChatBody(), fields);
	} catch (thrown) {
		throw asInputFailure("badChatFormat", thrown);
	}
}

/** A step on one of OpenAI's or Anthropic's routes. `idOf` converts the `model` of the body to an id of the catalogue. */
function openaiStep(route: OpenaiRoute, { fields }: Inputs, idOf: (model: string) => string): StepRoute {
	const body = requireModel(fields);
	const model = idOf(body.model);
	const inputs = { fields: { ...body, model } };
	return { model, dialect: onlyFor(route), inputs, wrap: WRAPS.bare, run: route.run };
}
