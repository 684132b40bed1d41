/**
 * Runs one model of the catalogue in a gateway: `env.AI.run(model, inputs, {gateway})`, and the REST routes with
 * `cf-aig-gateway-id`. A model of a provider that names no gateway runs in the gateway `default`, a model of Workers AI or
 * of the operator without one.
 */
import { type AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import type { ProviderAccess } from "../../gateways/durable/provider-access.ts";
import type { RequestSource } from "../../gateways/exchange.ts";
import { type GatewayOptions, mergedOptions, optionsInHeaders } from "../../gateways/options.ts";
import type { GatewayStep, StepBody, StepPlan } from "../../gateways/request.ts";
import { DEFAULT_GATEWAY } from "../../gateways/settings.ts";
import { isThirdPartyId } from "../../models/third-party.ts";
import type { Caller, InferenceRequest, Inputs, Reply } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { Services } from "../../pipeline/services.ts";
import { OPENAI_CHAT, onlyFor } from "../openai/route-dialect.ts";
import { dynamicPlan, dynamicRouteName } from "./dynamic-plan.ts";
import { compatModel, isProviderModel, slugOf } from "./provider-names.ts";
import { type PlanContext, runInGateway } from "./run-in-gateway.ts";
import { type ModelTarget, modelTarget } from "./step-target.ts";
import { usageObserver } from "./usage-observer.ts";

/** The header of the REST routes. */
const GATEWAY_ID = "cf-aig-gateway-id";

/** `options.gateway.id` of the binding. `undefined`: the model runs without a gateway. */
export function gatewayOfOptions(options: unknown, model: string): string | undefined {
	const gateway = isRecord(options) && isRecord(options.gateway) ? options.gateway.id : undefined;
	return typeof gateway === "string" && gateway !== "" ? gateway : defaultGateway(model);
}

/** The gateway of a REST request. `undefined`: the model runs without one. */
export const gatewayOfHeaders = (headers: Headers, model: string): string | undefined =>
	headers.get(GATEWAY_ID) || defaultGateway(model);

/** The gateway of a REST request, and its options. */
export function gatewayInHeaders(headers: Headers, model: string): ModelGateway {
	const id = gatewayOfHeaders(headers, model);
	return id === undefined ? NO_GATEWAY : { id, options: optionsInHeaders(headers) };
}

/** An operator may name a model like `author/model`, too: such a model runs without a gateway. */
const defaultGateway = (model: string): string | undefined =>
	isProviderModel(model) || dynamicRouteName(model) !== undefined ? DEFAULT_GATEWAY : undefined;

export interface ModelGateway {
	/** `undefined`: the model runs without a gateway. */
	id: string | undefined;
	options: GatewayOptions;
}

export const NO_GATEWAY: ModelGateway = { id: undefined, options: {} };

export interface ModelCall {
	request: InferenceRequest;
	/** For routes that split a request into several. */
	run?: typeof run | undefined;
	/** The path of the route below the provider's address, for the log. */
	endpoint: string;
	source: RequestSource;
	/** The name of the surface's format. */
	format: string;
	respond(reply: Reply, requestId: string): Response;
	failure(error: AiError, requestId: string): Response;
}

/** A request whose body is not read yet. */
export interface UnreadCall<T> extends Pick<ModelCall, "endpoint" | "source" | "failure"> {
	id: string;
	caller: Caller;
	signal: AbortSignal;
	/** If the address or a header names it. */
	model?: string | undefined;
	/** The gateway, as far as it is known when `read` fails. */
	gateway(): ModelGateway;
	read(): Promise<T>;
	run(read: T): Promise<Response>;
}

/** Reads and runs a request. One that cannot be read has a log in its gateway, too. Throws the error of a request without a gateway. */
export async function readInGateway<T>(call: UnreadCall<T>, services: Services): Promise<Response> {
	let read: T;
	try {
		read = await call.read();
	} catch (thrown) {
		return refuseUnread(thrown, call, services);
	}
	return call.run(read);
}

function refuseUnread(
	thrown: unknown,
	{ caller, endpoint, failure, gateway, id: requestId, model, signal, source }: UnreadCall<unknown>,
	services: Services,
): Promise<Response> {
	const { id, options } = gateway();
	if (id === undefined) throw thrown;
	// biome-ignore lint/correctness/useYield: the plan fails before its first step.
	const plan = async function* ({ exchange }: PlanContext): StepPlan {
		const provider = model === undefined ? {} : { provider: slugOf(model), model };
		exchange.report({ path: endpoint, ...provider });
		throw thrown;
	};
	return runInGateway(
		{ caller, gateway: id, options, source, plan, signal, failure: (error) => failure(error, requestId) },
		services,
	);
}

/** Throws the error of a run without a gateway. */
export async function runModel(
	call: ModelCall,
	gateway: ModelGateway,
	services: Services,
): Promise<Response> {
	const { request } = call;
	if (gateway.id === undefined) return call.respond(await (call.run ?? run)(request, services), request.id);
	const plan = (context: PlanContext): StepPlan => planOf(call, gateway.options, { context, services });
	return runInGateway(
		{
			caller: request.caller,
			gateway: gateway.id,
			options: gateway.options,
			source: call.source,
			plan,
			signal: request.signal,
			failure: (error) => call.failure(error, request.id),
		},
		services,
	);
}

/** A model that names a dynamic route takes the body of a chat (`dynamic-plan.ts`). */
async function* planOf(
	call: ModelCall,
	options: GatewayOptions,
	{ context, services }: { context: PlanContext; services: Services },
): StepPlan {
	const { request } = call;
	const { account, settings } = context;
	const access = isThirdPartyId(request.model)
		? await services.providerAccesses.find(account, settings.id)
		: NO_ACCESS;
	const stepFor = (modelCall: ModelCall, stepOptions: GatewayOptions): GatewayStep => {
		// Keys of the request and aliases of stored keys do not apply here.
		const { byokAlias: _, ...applied } = stepOptions;
		const provider = slugOf(modelCall.request.model);
		const target = modelTarget(
			{ provider, headers: new Headers() },
			{ account, settings, access, options: applied, services },
		);
		return modelStep(modelCall, stepOptions, target);
	};
	const name = dynamicRouteName(request.model);
	if (name === undefined) {
		yield { step: stepFor(call, options), index: 0 };
		return;
	}
	const body = request.inputs.fields;
	const dynamicStep = (compat: string, modelOptions: GatewayOptions): GatewayStep => {
		const model = compatModel(compat);
		const inputs = { fields: isRecord(body) ? { ...body, model } : body };
		const chat = { ...call, request: { ...request, model, inputs, dialect: onlyFor(OPENAI_CHAT) } };
		return stepFor(chat, mergedOptions(modelOptions, options));
	};
	const facts = { metadata: options.metadata ?? {}, body, headers: {} };
	yield* dynamicPlan({ name, facts, index: 0, stepFor: dynamicStep }, context, services);
}

const NO_ACCESS: ProviderAccess = { keys: [], customProviders: [] };

function modelStep(
	call: ModelCall,
	options: GatewayOptions,
	{ services, identity }: Pick<ModelTarget, "services" | "identity">,
): GatewayStep {
	const { request, endpoint, format } = call;
	const { model, inputs } = request;
	let attempts = 0;
	return {
		provider: slugOf(model),
		endpoint,
		model,
		body: stepBody(inputs),
		format,
		plane: "run",
		providerKey: identity,
		options,
		async call(signal, exchange) {
			// The account accepts each id once.
			const id = attempts++ === 0 ? request.id : services.uuid();
			const observers = [...(request.observers ?? []), usageObserver(exchange)];
			try {
				return call.respond(await (call.run ?? run)({ ...request, id, signal, observers }, services), id);
			} catch (thrown) {
				const error = toAiError(thrown);
				services.log(error, id);
				return call.failure(error, id);
			}
		},
	};
}

export const stepBody = ({ body, fields, query }: Inputs): StepBody =>
	body
		? { contentType: body.contentType, content: { bytes: body.bytes }, parameters: { fields, query } }
		: { contentType: "application/json", content: { json: fields }, parameters: { query } };
