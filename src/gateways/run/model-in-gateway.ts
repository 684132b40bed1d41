/**
 * Runs one model of the catalogue in a gateway: `env.AI.run(model, inputs, {gateway})`, and the REST routes with
 * `cf-aig-gateway-id`. A model of a provider that names no gateway runs in the gateway `default`, a model of Workers AI or
 * of the operator without one.
 *
 * What differs among the surfaces is in `ModelCall`, as functions and not as data: the body is read in the gateway, so that a request
 * that cannot be read has a log too.
 */
import { GatewayRequired } from "../../accounts/bound-gateway.ts";
import { type AiError, toAiError } from "../../core/errors.ts";
import { isRecord } from "../../core/json.ts";
import { loadDialect } from "../../dialects/index.ts";
import { OPENAI_CHAT, onlyFor } from "../../dialects/route-dialect.ts";
import { isThirdPartyId } from "../../models/third-party.ts";
import type { Caller, InferenceRequest, Inputs, Reply } from "../../pipeline/request.ts";
import { run } from "../../pipeline/run.ts";
import type { SearchKeys } from "../../websearch/services.ts";
import type { ProviderAccess } from "../durable/provider-access.ts";
import { type RequestSource, sourceOf } from "../exchange.ts";
import { type GatewayOptions, mergedOptions, optionsInHeaders } from "../options.ts";
import { type GatewayStep, type StepBody, type StepPlan, WORKERS_AI } from "../request.ts";
import type { GatewayServices } from "../services.ts";
import { DEFAULT_GATEWAY } from "../settings.ts";
import { dynamicPlan } from "./dynamic-plan.ts";
import { isPoolName, poolPlan } from "./pool-plan.ts";
import { compatModel, dynamicRouteName, isProviderModel, slugOf } from "./provider-names.ts";
import { requestedFacts } from "./requested-facts.ts";
import { type GatewayCall, type PlanContext, runInGateway } from "./run-in-gateway.ts";
import { type ModelTarget, modelTarget } from "./step-target.ts";
import { storedKeys } from "./stored-keys.ts";
import { usageObserver } from "./usage-observer.ts";

/** The header of the REST routes. */
export const GATEWAY_ID = "cf-aig-gateway-id";

/** `options.gateway.id` of the binding. */
export function gatewayOfOptions(options: unknown): string | undefined {
	const gateway = isRecord(options) && isRecord(options.gateway) ? options.gateway.id : undefined;
	return typeof gateway === "string" && gateway !== "" ? gateway : undefined;
}

/** The gateway that a REST request names. */
export const gatewayOfHeaders = (headers: Headers): string | undefined =>
	headers.get(GATEWAY_ID) || undefined;

/** The gateway of a REST request. */
export const gatewayInHeaders = (headers: Headers, model: string): ModelGateway => ({
	named: gatewayOfHeaders(headers),
	otherwise: defaultGateway(model),
	options: () => optionsInHeaders(headers),
	source: () => sourceOf("REST", headers),
});

/**
 * The gateway of a model whose request names none. An operator may name a model like `author/model`, too: such a model runs without a
 * gateway.
 */
export function defaultGateway(model: string): string | undefined {
	// A model of Workers AI.
	if (model.startsWith("@")) return undefined;
	return isProviderModel(model) || choosesModel(model) ? DEFAULT_GATEWAY : undefined;
}

/** The caller of a request without a gateway that the surface can run in one. */
export const withoutGateway = (caller: Caller): Caller => ({
	...caller,
	credential: { ...caller.credential, gateway: null },
});

/** Whether the name is that of a dynamic route, an alias or `cloudflare/auto`, for which a gateway chooses the model. */
export const choosesModel = (model: unknown): model is string =>
	dynamicRouteName(model) !== undefined || isPoolName(model);

/** The gateway of a request, with the options and the source of the request. */
export interface ModelGateway {
	/** Its id, if the caller names one. */
	named: string | undefined;
	/** If neither the caller nor its token names one. `undefined`: the model runs without a gateway. */
	otherwise: string | undefined;
	options(): GatewayOptions;
	source(): RequestSource;
}

/** Runs a model, like the pipeline's `run`. */
export type RunModel = (request: InferenceRequest, services: GatewayServices) => Promise<Reply>;

/** A request for a model. Its body is not read yet. */
export interface ModelCall {
	id: string;
	caller: Caller;
	signal: AbortSignal;
	/** If the address or a header names it. */
	model?: string | undefined;
	/** The path of the route below the provider's address, for the log. `model`: absent if the request cannot be read. */
	endpoint(model?: string): string;
	/** The name of the format of the answers. Called after `read`. */
	format(): string;
	read(): Promise<InferenceRequest>;
	/** `undefined`: the surface has no gateways. `model`: empty if it is not known, because the request cannot be read. */
	gateway(model: string): ModelGateway | undefined;
	/** Runs the request. Absent: the pipeline's `run`. */
	run?: RunModel | undefined;
	respond(reply: Reply, requestId: string): Response;
	/** The response to a failure in a gateway. */
	failure(error: AiError, requestId: string): Response;
}

/**
 * Reads and runs a request, in its gateway if it has one: then a request that cannot be read has a log, too. Throws the error of a
 * request without a gateway.
 */
export async function runModel(call: ModelCall, services: GatewayServices): Promise<Response> {
	let request: InferenceRequest;
	try {
		request = await call.read();
	} catch (thrown) {
		const gateway = call.gateway(call.model ?? "");
		if (!gateway || !isInGateway(gateway, call, services)) throw thrown;
		// biome-ignore lint/correctness/useYield: the plan fails before its first step.
		const plan = async function* ({ exchange }: PlanContext): StepPlan {
			const { endpoint, model } = call;
			const path = endpoint(model);
			exchange.report(model === undefined ? { path } : requestedFacts(slugOf(model), path, model));
			throw thrown;
		};
		return inGateway(call, gateway, plan, services);
	}
	const gateway = call.gateway(request.model);
	const runDirectly = async (caller: Caller): Promise<Response> =>
		call.respond(await (call.run ?? run)({ ...request, caller }, services), request.id);
	if (!gateway) return runDirectly(request.caller);
	if (!isInGateway(gateway, call, services)) {
		try {
			return await runDirectly(withoutGateway(request.caller));
		} catch (thrown) {
			if (!(thrown instanceof GatewayRequired)) throw thrown;
			gateway.otherwise = thrown.gateway.id;
		}
	}
	let calls = 0;
	const nextId = (): string => (calls++ === 0 ? request.id : services.uuid());
	const read = { call, request, endpoint: call.endpoint(request.model), nextId };
	const plan = (context: PlanContext): StepPlan => planOf(read, { context, services });
	return inGateway(call, gateway, plan, services);
}

/**
 * Whether the request runs in a gateway. A token that binds one may not be known yet: then the account's object refuses the request
 * ({@link GatewayRequired}), so that requests of other tokens need no call.
 */
function isInGateway(gateway: ModelGateway, { caller }: ModelCall, { ledgers }: GatewayServices): boolean {
	if (gateway.named !== undefined || gateway.otherwise !== undefined) return true;
	gateway.otherwise =
		caller.identity?.gateway?.id ?? ledgers.of(caller.account).knownGateway(caller.credential);
	return gateway.otherwise !== undefined;
}

const inGateway = (
	{ id: requestId, caller, signal, failure }: ModelCall,
	{ named, otherwise, options, source }: ModelGateway,
	plan: GatewayCall["plan"],
	services: GatewayServices,
): Promise<Response> =>
	runInGateway(
		{
			...{ caller, gateway: named, otherwise, plan, signal },
			options: options(),
			source: source(),
			failure: (error) => failure(error, requestId),
		},
		services,
	);

interface ReadCall {
	call: ModelCall;
	/** That of the caller; in a step of a dynamic route, with the model of the step. */
	request: InferenceRequest;
	endpoint: string;
	/** The id of the next call: that of the request, and then others. The account accepts each id once. */
	nextId(): string;
}

/** On the run API, a name for which the gateway chooses the model takes the body of a chat. */
async function* planOf(
	{ call, request: sent, endpoint, nextId }: ReadCall,
	{ context, services }: { context: PlanContext; services: GatewayServices },
): StepPlan {
	const { account, caller, options, settings, exchange } = context;
	const request = { ...sent, caller };
	const access = isThirdPartyId(request.model)
		? await services.providerAccesses.find(account, settings.id)
		: NO_ACCESS;
	const findKeys = storedKeys(account, settings, services);
	const stepFor = (stepRequest: InferenceRequest, stepOptions: GatewayOptions): GatewayStep => {
		const provider = slugOf(stepRequest.model);
		const target = modelTarget(
			// Keys of the request do not apply here.
			{ provider, headers: NO_HEADERS },
			{ account, settings, access, options: stepOptions, services },
		);
		return modelStep({ call, endpoint, nextId, findKeys, request: stepRequest }, stepOptions, target);
	};
	const name = dynamicRouteName(request.model);
	if (!choosesModel(request.model)) {
		yield { step: stepFor(request, options), index: 0 };
		return;
	}
	// For the log of a request that fails before the gateway has chosen a model.
	exchange.report(requestedFacts(slugOf(request.model), endpoint, request.model));
	const body = request.inputs.fields;
	const chosenStep = (compat: string, modelOptions: GatewayOptions): GatewayStep => {
		const stepOptions = mergedOptions(modelOptions, options);
		try {
			const model = compatModel(compat, services);
			const inputs = { fields: isRecord(body) ? { ...body, model } : body };
			// The native format of a run differs for each model, so that one body fits only one of them.
			const dialect = request.dialect === loadDialect ? onlyFor(OPENAI_CHAT) : request.dialect;
			return stepFor({ ...request, model, inputs, dialect }, stepOptions);
		} catch (thrown) {
			exchange.report({ skipped: [...(exchange.facts.skipped ?? []), compat] });
			return failedStep(toAiError(thrown), { call, request, endpoint, nextId }, stepOptions);
		}
	};
	const common = { index: 0, stepFor: chosenStep };
	const { model } = request;
	if (name === undefined) yield* poolPlan({ ...common, model, body, options }, context, services);
	else {
		const facts = { metadata: options.metadata ?? {}, body, headers: {} };
		yield* dynamicPlan({ ...common, name, facts }, context, services);
	}
}

const NO_HEADERS = new Headers();
const NO_ACCESS: ProviderAccess = { keys: [], customProviders: [] };

function modelStep(
	{ call, request, endpoint, nextId, findKeys }: ReadCall & { findKeys: SearchKeys["find"] },
	options: GatewayOptions,
	{ services, identity, keyLimit, providerPrices }: Omit<ModelTarget, "kind">,
): GatewayStep {
	const { model, inputs } = request;
	return {
		provider: slugOf(model),
		endpoint,
		model,
		body: stepBody(inputs),
		format: call.format(),
		plane: "run",
		providerKey: identity,
		keyLimit,
		options,
		async call(signal, exchange) {
			const id = nextId();
			const usage = usageObserver(exchange, providerPrices);
			const stepRequest = { ...request, id, signal, observers: [...(request.observers ?? []), usage] };
			const searchKeys = { find: findKeys, used: usage.used };
			try {
				return call.respond(await (call.run ?? run)(stepRequest, { ...services, searchKeys }), id);
			} catch (thrown) {
				const error = toAiError(thrown);
				services.log(error, id);
				exchange.report({ failure: error.key });
				return call.failure(error, id);
			}
		},
	};
}

/** A step of a dynamic route that cannot run. Its fallback is tried next. */
const failedStep = (
	error: AiError,
	{ call, request, endpoint }: ReadCall,
	options: GatewayOptions,
): GatewayStep => ({
	provider: WORKERS_AI,
	endpoint,
	body: stepBody(request.inputs),
	format: call.format(),
	plane: "run",
	providerKey: undefined,
	options,
	async call(_, exchange) {
		exchange.report({ failure: error.key });
		return call.failure(error, request.id);
	},
});

export const stepBody = ({ body, fields, query }: Inputs): StepBody =>
	body
		? { contentType: body.contentType, content: { bytes: body.bytes }, parameters: { fields, query } }
		: { contentType: "application/json", content: { json: fields }, parameters: { query } };
