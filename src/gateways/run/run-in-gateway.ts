/**
 * Runs a request in a gateway of its account. Its plan yields the steps, one after the other; each passes the gateway's
 * middleware. A step calls a model through the pipeline, so that every call is admitted and billed like one without a gateway.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { timeOrderedUuid } from "../../core/time-ordered-uuid.ts";
import { identifyCaller } from "../../http/authenticate.ts";
import { MAX_HOPS, passedHops } from "../../outbound/passed-headers.ts";
import type { Caller } from "../../pipeline/request.ts";
import { noGateway } from "../absent-gateway.ts";
import { answerHeaders } from "../answer-headers.ts";
import { boundOptions } from "../bound-options.ts";
import type { EndObserver } from "../ended-request.ts";
import type { GatewayExchange, GatewayFacts, RequestSource } from "../exchange.ts";
import { cacheMiddleware } from "../middleware/cache.ts";
import { dlpMiddleware } from "../middleware/dlp.ts";
import { guardrailMiddleware } from "../middleware/guardrails.ts";
import { limitMiddleware, spendBeforeNextStep, spendObserver } from "../middleware/limits.ts";
import { resumeMiddleware } from "../middleware/resume.ts";
import { isExhausted, retryMiddleware } from "../middleware/retries.ts";
import type { GatewayOptions } from "../options.ts";
import { addressProblem } from "../providers/public-host.ts";
import { composed, type GatewayMiddleware, type GatewayStep, type StepPlan } from "../request.ts";
import type { GatewayServices } from "../services.ts";
import { DEFAULT_GATEWAY, type GatewaySettings } from "../settings.ts";
import { AnswerEnd } from "./answer-end.ts";
import { inBoundGateway } from "./bound-caller.ts";
import { guardModels } from "./guard-models.ts";
import { logObserver } from "./log-observer.ts";
import { loggedId } from "./provider-names.ts";
import { requestedFacts } from "./requested-facts.ts";

export interface GatewayCall {
	caller: Caller;
	/** Named by the caller. */
	gateway: string | undefined;
	/** If neither the caller nor its token names a gateway. */
	otherwise?: string | undefined;
	options: GatewayOptions;
	source: RequestSource;
	plan(gateway: PlanContext): StepPlan;
	/** Fires when the caller disconnects. */
	signal: AbortSignal;
	/** The surface's format of failures. */
	failure(error: AiError): Response;
}

/** The values that a plan may depend on. */
export interface PlanContext {
	account: string;
	/** Verified, and in this gateway. Every call of a step is one of this caller. */
	caller: Caller;
	/** The options of the request, with the metadata of its token. Those of a step get it, too. */
	options: GatewayOptions;
	settings: GatewaySettings;
	exchange: GatewayExchange;
}

/** In front of the steps, outermost first. */
const middleware = (caller: Caller, services: GatewayServices): readonly GatewayMiddleware[] => [
	resumeMiddleware(services),
	cacheMiddleware(services),
	limitMiddleware(services),
	dlpMiddleware,
	guardrailMiddleware(guardModels(caller, services)),
	retryMiddleware(services),
];

function otelObserver(services: GatewayServices): EndObserver {
	const { fetch, gatewayRules, otelExporter, publicFetch, publicUrl } = services;
	// The end of a request may not know its hops. A collector that is this gateway would receive its own requests without end.
	if (passedHops() >= MAX_HOPS) return () => {};
	return (request) =>
		otelExporter.export(request, {
			fetch: (!gatewayRules.allowPrivateAddresses && publicFetch) || fetch,
			problem: (url) => addressProblem(url, { ...gatewayRules, publicUrl }),
		});
}

/** They receive the end of every request. */
const endObservers = (services: GatewayServices): readonly EndObserver[] => [
	logObserver(services.gatewayLogs, services.limits),
	spendObserver(services),
	otelObserver(services),
	services.gatewayCounters.ended,
	(request) => services.shadows.ended(request, services),
];

/**
 * The response is the answer to the last step of the plan, also if that failed, or the failure of the plan. Throws 2001 for an unknown
 * gateway.
 */
export async function runInGateway(
	{ caller, gateway: named, otherwise, options: sent, source, plan, signal, failure }: GatewayCall,
	services: GatewayServices,
): Promise<Response> {
	// The cache and the limits answer without the pipeline, which verifies the callers of lazy routes.
	const verified = await identifyCaller(caller, services.ledgers);
	const { account, identity = {} } = verified;
	const gateway = named ?? identity.gateway?.id ?? otherwise ?? DEFAULT_GATEWAY;
	const bound = inBoundGateway(verified, gateway);
	const options = boundOptions(sent, identity);
	const settings = await services.gateways.find(account, gateway);
	if (!settings)
		throw new AiError("noSuchGateway", noSuchGateway(gateway, await services.gateways.knownNames(account)));
	const { gatewayLogs, now, waitUntil } = services;
	const id = timeOrderedUuid(now(), services.uuid());
	const answerEnd = new AnswerEnd(
		{ id, account, gateway, options, source, settings, signal },
		{ now, waitUntil, observers: endObservers(services), maxPayload: gatewayLogs.maxPayload },
	);
	const place = answerEnd.waitForPlace();
	if (place) await place;
	const { exchange } = answerEnd;
	const answer = composed(middleware(bound, services));
	let response: Response | undefined;
	let last: GatewayStep | undefined;
	const failed = (thrown: unknown): Response => {
		const error = toAiError(thrown);
		services.failureCounts.add(error);
		exchange.report({ failure: error.key });
		return failure(error);
	};
	try {
		const steps = plan({ account, caller: bound, options, settings, exchange });
		for (let next = await steps.next(); !next.done; next = await steps.next(response)) {
			if (last) spendBeforeNextStep({ exchange, settings, step: last }, services);
			const { index, hasFallback = false } = next.value;
			const step = { ...next.value.step, options: boundOptions(next.value.step.options, identity) };
			last = step;
			exchange.report({ ...factsOf(step, services), step: index, failure: undefined });
			const request = { account, settings, step, index, hasFallback, exchange, signal };
			response = await answer(request).catch(failed);
			if (signal.aborted || isExhausted(exchange.facts)) break;
		}
		if (!response) throw new AiError("invalidProvider");
	} catch (thrown) {
		response = failed(thrown);
	}
	const answered = answerEnd.answered(response, last);
	// An answer of the cache has its headers.
	if (exchange.facts.cached) return answered;
	const { headers } = answered;
	for (const [name, value] of Object.entries(answerHeaders(exchange, last, answerEnd.isLogged)))
		headers.set(name, value);
	if (!headers.has("cf-aig-cache-status")) headers.set("cf-aig-cache-status", "MISS");
	return answered;
}

const noSuchGateway = (name: string, names: readonly string[]): string =>
	`Please configure AI Gateway: ${noGateway(name, names, ".")} POST …/ai-gateway/gateways creates one (docs/gateways.md)`;

function factsOf(step: GatewayStep, { catalog }: Pick<GatewayServices, "catalog">): GatewayFacts {
	const named = step.modelId ?? step.model;
	const model = named && loggedId(named, catalog);
	return {
		...requestedFacts(step.compat?.provider ?? step.provider, step.endpoint, model),
		byok: step.providerKey !== undefined,
		modelType: model === undefined ? undefined : catalog.find(model)?.task,
	};
}
