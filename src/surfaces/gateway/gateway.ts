/**
 * AI Gateway's steps: `{provider, endpoint, headers, query}`, tried in order until one succeeds. A step runs a model through the
 * pipeline like a request of any other surface, or is passed to its provider (`step-target.ts`). Provider `workers-ai` answers
 * like REST: native models in the v4 envelope, OpenAI's routes without it, events and bytes unchanged. For another provider,
 * the routes for chat, responses, embeddings and Messages run the model `{author}/{model}`, which PROVIDER_KEYS or ROUTES serve.
 * `google-ai-studio` also has Gemini's methods. `compat` is OpenAI's API for model ids with a provider: `workers-ai/@cf/…`,
 * `openai/…`, `acme/chat`.
 * The session headers of a step are used (`request-options.ts`).
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { GatewayExchange, RequestSource } from "../../gateways/exchange.ts";
import { type GatewayOptions, mergedOptions } from "../../gateways/options.ts";
import { forwardedHeaders } from "../../gateways/providers/headers.ts";
import { modelInPath } from "../../gateways/providers/model-in-path.ts";
import { type GatewayStep, type StepPlan, WORKERS_AI } from "../../gateways/request.ts";
import { failureEnvelope, replyResponse } from "../../http/envelope.ts";
import { geminiFailure, messagesFailure, openAiFailure } from "../../http/failure-formats.ts";
import { inferenceRequest } from "../../http/request-options.ts";
import type { AppServices } from "../../http/services.ts";
import type { Caller, Inputs } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import { callGemini } from "../gemini/gemini-call.ts";
import { dynamicPlan } from "./dynamic-plan.ts";
import { gatewayFailure } from "./gateway-failure.ts";
import { stepBody } from "./model-in-gateway.ts";
import { isPoolName, poolPlan } from "./pool-plan.ts";
import { callProvider } from "./provider-call.ts";
import { COMPAT, compatParts, dynamicRouteName, servedId } from "./provider-names.ts";
import { type PlanContext, runInGateway } from "./run-in-gateway.ts";
import type { Step } from "./step.ts";
import { geminiMethod, hasOpenAiFailures, isModelRoute, routeOf } from "./step-route.ts";
import { type ModelTarget, type StepTarget, type TargetContext, targetOf } from "./step-target.ts";
import { storedKeys } from "./stored-keys.ts";
import { usageObserver } from "./usage-observer.ts";

export interface StepsContext {
	caller: Caller;
	gateway: string;
	/** The request's options. The options of a step have precedence. */
	options: GatewayOptions;
	source: RequestSource;
	/** The names in the address, for the log of a request that cannot be read. */
	address?: { provider: string; path: string };
	signal: AbortSignal;
	services: AppServices;
}

/**
 * Never throws. When all steps fail, the response is the failure of the last one. `read` runs when the gateway is known, so that a
 * body that cannot be read has a log.
 */
export async function runSteps(
	read: () => Step[] | Promise<Step[]>,
	context: StepsContext,
): Promise<Response> {
	try {
		const plan = async function* (gateway: PlanContext): StepPlan {
			gateway.exchange.report(context.address ?? {});
			yield* stepPlan(await read(), context, gateway);
		};
		return await runInGateway({ ...context, plan, failure: gatewayFailure }, context.services);
	} catch (error) {
		return gatewayFailure(toAiError(error));
	}
}

/** Tries the steps in order until one succeeds. A step of `compat` may name a dynamic route. */
async function* stepPlan(
	steps: readonly Step[],
	{ services, signal }: StepsContext,
	gateway: PlanContext,
): StepPlan {
	const { account, caller, options, settings } = gateway;
	const context = { caller, services, signal };
	// Workers AI needs no key.
	const needsAccess = steps.some(({ provider }) => provider !== WORKERS_AI);
	const access = needsAccess
		? await services.providerAccesses.find(account, settings.id)
		: { keys: [], customProviders: [] };
	const stepFor = (step: Step): GatewayStep =>
		gatewayStep(step, {
			...context,
			account,
			settings,
			access,
			options: mergedOptions(step.options, options),
		});
	for (const [index, step] of steps.entries()) {
		const chosen = chosenPlan(step, { index, options, stepFor }, gateway, services);
		const response = chosen
			? yield* chosen
			: yield { step: stepFor(step), index, hasFallback: index < steps.length - 1 };
		if (response?.ok) return;
	}
}

/** The plan of a step of `compat` for whose model the gateway chooses: a dynamic route, an alias, `cloudflare/auto`. */
function chosenPlan(
	step: Step,
	request: { index: number; options: GatewayOptions; stepFor(step: Step): GatewayStep },
	gateway: PlanContext,
	services: AppServices,
): ReturnType<typeof dynamicPlan> | undefined {
	const { provider, inputs, sent } = step;
	const body = isRecord(inputs.fields) ? inputs.fields : {};
	const { model } = body;
	if (provider !== COMPAT) return undefined;
	const { index } = request;
	const options = mergedOptions(step.options, request.options);
	const stepFor = (chosen: string, modelOptions: GatewayOptions): GatewayStep =>
		request.stepFor({
			...step,
			inputs: { fields: { ...body, model: chosen } },
			options: mergedOptions(modelOptions, step.options),
		});
	if (isPoolName(model)) return poolPlan({ model, body, options, index, stepFor }, gateway, services);
	const name = dynamicRouteName(model);
	if (name === undefined) return undefined;
	const facts = { metadata: options.metadata ?? {}, body, headers: Object.fromEntries(sent.headers) };
	return dynamicPlan({ name, index, facts, stepFor }, gateway, services);
}

interface StepContext extends Omit<TargetContext, "isModelRoute"> {
	caller: Caller;
}

function gatewayStep(step: Step, context: StepContext): GatewayStep {
	const target = attempt(() => targetOf(step, { ...context, isModelRoute: isModelRoute(step) }));
	const pathModel = modelInPath(step.provider, step.endpoint);
	const isModel = !(target instanceof AiError) && target.kind === "model";
	const modelInBody = modelOf(step.inputs);
	const compat = step.provider === COMPAT ? compatParts(modelInBody ?? "", context.services) : undefined;
	// The provider's own name of the model.
	const model = compat?.model ?? modelInBody ?? pathModel;
	const modelId = isModel
		? attempt(() => geminiMethod(step)?.model ?? routeOf(step, context.services).model)
		: model;
	return {
		provider: step.provider,
		endpoint: step.endpoint,
		model: pathModel,
		compat,
		modelId: modelId instanceof AiError ? undefined : modelId,
		body: stepBody(step.inputs),
		passed: passedBy(target),
		// Provider and endpoint decide the rest of the format.
		format: `gateway ${step.sent.method}`,
		plane: "gateway",
		...keyOf(target),
		options: context.options,
		async call(signal, exchange) {
			const id = context.services.uuid();
			if (target instanceof AiError) return failed(step, target, id, exchange);
			const provider = compat?.provider ?? step.provider;
			if (target.kind === "provider")
				return callProvider(target.target, {
					...context,
					...{ provider, model, exchange, signal },
					fields: step.inputs.fields,
					estimates: context.settings.estimate_usage === true,
				});
			return runStep(step, { ...context, ...target, id, signal }, exchange);
		},
	};
}

const keyOf = (target: StepTarget | AiError): Pick<GatewayStep, "providerKey" | "keyLimit"> =>
	target instanceof AiError
		? { providerKey: undefined }
		: { providerKey: target.identity, keyLimit: target.keyLimit };

const passedBy = (target: StepTarget | AiError): GatewayStep["passed"] =>
	!(target instanceof AiError) && target.kind === "provider"
		? { headers: forwardedHeaders(target.target.sent.headers), body: target.target.sent.body }
		: undefined;

function attempt<T>(make: () => T): T | AiError {
	try {
		return make();
	} catch (thrown) {
		return toAiError(thrown);
	}
}

/** The model that a provider's body names. */
const modelOf = ({ fields }: Inputs): string | undefined =>
	isRecord(fields) && typeof fields.model === "string" ? fields.model : undefined;

function failed(step: Step, error: AiError, id: string, exchange: GatewayExchange): Response {
	exchange.report({ failure: error.key });
	// The SDKs of these providers read only their own format.
	if (geminiMethod(step)) return geminiFailure(error, id);
	if (step.provider === "anthropic") return messagesFailure(error, id);
	if (error.failure.plane === "gateway") return gatewayFailure(error, id);
	return hasOpenAiFailures(step) ? openAiFailure(error, id) : failureEnvelope(error, id);
}

interface ModelRun
	extends Pick<ModelTarget, "services" | "providerPrices">,
		Pick<StepContext, "account" | "settings"> {
	id: string;
	caller: Caller;
	signal: AbortSignal;
}

async function runStep(
	step: Step,
	{ id, caller, services: stepServices, providerPrices, signal, account, settings }: ModelRun,
	exchange: GatewayExchange,
): Promise<Response> {
	const usage = usageObserver(exchange, providerPrices);
	const observers = [usage];
	const find = storedKeys(account, settings, stepServices);
	const services = { ...stepServices, searchKeys: { find, used: usage.used } };
	try {
		const { headers } = step;
		const gemini = geminiMethod(step);
		if (gemini) {
			const model = await servedId(gemini.model, caller, services);
			const { fields } = step.inputs;
			return await callGemini({ ...gemini, model, id, caller, fields, headers, signal, observers }, services);
		}
		const { model: named, dialect, inputs, wrap, run: runRoute = run } = routeOf(step, services);
		const model = await servedId(named, caller, services);
		const { fields } = inputs;
		const sources = { id, caller, model, dialect, inputs, signal, headers, fields, observers };
		return replyResponse(await runRoute(inferenceRequest(sources), services), id, wrap);
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, id);
		return failed(step, error, id, exchange);
	}
}
