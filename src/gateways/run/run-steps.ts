/**
 * AI Gateway's steps: `{provider, endpoint, headers, query}`, tried in order until one succeeds. A step runs a model through the
 * pipeline like a request of any other surface, or is passed to its provider (`step-target.ts`). The surface gives the format of
 * each step (`StepFormat`).
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { withOwnTrace } from "../../outbound/passed-headers.ts";
import type { Caller, Inputs } from "../../pipeline/request.ts";
import type { GatewayExchange, RequestSource } from "../exchange.ts";
import { type GatewayOptions, mergedOptions } from "../options.ts";
import { forwardedHeaders } from "../providers/headers.ts";
import { modelInPath } from "../providers/model-in-path.ts";
import { type GatewayStep, type StepPlan, WORKERS_AI } from "../request.ts";
import type { GatewayServices } from "../services.ts";
import { dynamicPlan } from "./dynamic-plan.ts";
import { choosesModel, stepBody } from "./model-in-gateway.ts";
import { isPoolName, poolPlan } from "./pool-plan.ts";
import { callProvider } from "./provider-call.ts";
import { COMPAT, compatParts, dynamicRouteName } from "./provider-names.ts";
import { requestedFacts } from "./requested-facts.ts";
import { type PlanContext, runInGateway } from "./run-in-gateway.ts";
import type { Step, StepFormat } from "./step.ts";
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
	services: GatewayServices;
	format(step: Step): StepFormat;
	/** The format of the gateway's own failures. */
	failure(error: AiError): Response;
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
		return await runInGateway({ ...context, plan }, context.services);
	} catch (error) {
		return context.failure(toAiError(error));
	}
}

/** Tries the steps in order until one succeeds. A step of `compat` may name a dynamic route. */
async function* stepPlan(
	steps: readonly Step[],
	{ format, services, signal }: StepsContext,
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
		gatewayStep(step, format(step), {
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
	services: GatewayServices,
): ReturnType<typeof dynamicPlan> | undefined {
	const { provider, inputs, sent } = step;
	const body = isRecord(inputs.fields) ? inputs.fields : {};
	const { model } = body;
	if (provider !== COMPAT || !choosesModel(model)) return undefined;
	// For the log of a request that fails before the gateway has chosen a model.
	gateway.exchange.report(requestedFacts(provider, step.endpoint, model));
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

function gatewayStep(step: Step, format: StepFormat, context: StepContext): GatewayStep {
	const target = attempt(() => targetOf(step, { ...context, isModelRoute: format.isModelRoute }));
	const pathModel = modelInPath(step.provider, step.endpoint);
	const isModel = !(target instanceof AiError) && target.kind === "model";
	const modelInBody = modelOf(step.inputs);
	const compat = step.provider === COMPAT ? compatParts(modelInBody ?? "", context.services) : undefined;
	// The provider's own name of the model.
	const model = compat?.model ?? modelInBody ?? pathModel;
	const modelId = isModel ? attempt(() => format.modelId(context.services)) : model;
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
			if (target instanceof AiError) {
				exchange.report({ failure: target.key });
				return format.failure(target, id);
			}
			const provider = compat?.provider ?? step.provider;
			if (target.kind === "provider")
				return callProvider(target.target, {
					...context,
					...{ provider, model, exchange, signal },
					fields: step.inputs.fields,
					estimates: context.settings.estimate_usage === true,
				});
			const run = { ...context, ...target, id, signal };
			return withOwnTrace(step.sent.headers, () => runStep(format, run, exchange));
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

interface ModelRun
	extends Pick<ModelTarget, "services" | "providerPrices">,
		Pick<StepContext, "account" | "settings"> {
	id: string;
	caller: Caller;
	signal: AbortSignal;
}

async function runStep(
	format: StepFormat,
	{ id, caller, services: stepServices, providerPrices, signal, account, settings }: ModelRun,
	exchange: GatewayExchange,
): Promise<Response> {
	const usage = usageObserver(exchange, providerPrices);
	const find = storedKeys(account, settings, stepServices);
	const services = { ...stepServices, searchKeys: { find, used: usage.used } };
	try {
		return await format.run({ id, caller, signal, observers: [usage] }, services);
	} catch (thrown) {
		const error = toAiError(thrown);
		services.log(error, id);
		exchange.report({ failure: error.key });
		return format.failure(error, id);
	}
}
