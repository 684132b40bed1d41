/**
 * Runs a request in a gateway of its account. Each step passes the gateway's middleware, until one succeeds. A step calls a model through the
 * pipeline, so that every call is admitted and billed like one without a gateway.
 */
import { AiError, toAiError } from "../../core/errors.ts";
import { GatewayExchange } from "../../gateways/exchange.ts";
import { logIdOf } from "../../gateways/log-id.ts";
import type { GatewayOptions } from "../../gateways/options.ts";
import { composed, type GatewayMiddleware, type GatewayStep } from "../../gateways/request.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { Services } from "../../pipeline/services.ts";

export interface GatewayCall {
	caller: Caller;
	gateway: string;
	options: GatewayOptions;
	/** At least one. */
	steps: readonly GatewayStep[];
	/** Fires when the caller disconnects. */
	signal: AbortSignal;
	/** The surface's format of failures. */
	failure(error: AiError): Response;
}

/** In front of the steps, outermost first. */
const MIDDLEWARE: readonly GatewayMiddleware[] = [];

/** When all steps fail, the response is the failure of the last one. Throws 2001 for an unknown gateway. */
export async function runInGateway(
	{ caller: { account }, gateway, options, steps, signal, failure }: GatewayCall,
	services: Pick<Services, "gateways" | "now" | "uuid">,
): Promise<Response> {
	const settings = await services.gateways.find(account, gateway);
	if (!settings) throw new AiError("noSuchGateway");
	const id = logIdOf(services.now(), services.uuid());
	const exchange = new GatewayExchange(
		{ id, account, gateway, options },
		{ now: services.now, observers: [] },
	);
	const answer = composed(MIDDLEWARE);
	let response: Response | undefined;
	for (const [index, step] of steps.entries()) {
		exchange.report({ provider: step.provider, path: step.endpoint, step: index });
		try {
			response = await answer({ account, settings, step, index, exchange, signal });
		} catch (thrown) {
			response = failure(toAiError(thrown));
		}
		if (response.ok || signal.aborted) return withHeaders(response, exchange, step);
	}
	if (!response) throw new Error("A request to a gateway has no step");
	return withHeaders(response, exchange, steps.at(-1));
}

function withHeaders(response: Response, exchange: GatewayExchange, step: GatewayStep | undefined): Response {
	const { headers } = response;
	headers.set("cf-aig-event-id", step?.options.eventId ?? exchange.eventId);
	headers.set("cf-aig-request-id", exchange.id);
	headers.set("cf-aig-step", String(exchange.facts.step ?? 0));
	if (!headers.has("cf-aig-cache-status")) headers.set("cf-aig-cache-status", "MISS");
	return response;
}
