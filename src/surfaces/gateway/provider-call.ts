/**
 * Passes a request to a provider: the method, the body and the remaining headers unchanged, and the answer as it arrives. The call is
 * counted against the account's rate, and not billed: the provider charges the owner of the key.
 */
import { AiError } from "../../core/errors.ts";
import type { GatewayExchange } from "../../gateways/exchange.ts";
import { forwardedHeaders, returnedHeaders } from "../../gateways/providers/headers.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { Services } from "../../pipeline/services.ts";
import { countRequest } from "../rate-limited.ts";
import { withReportedUsage } from "./passed-usage.ts";
import type { SentRequest } from "./step.ts";

export interface ProviderTarget {
	url: URL;
	/** The key, and headers of a custom provider. They replace those of the request. */
	headers: readonly (readonly [name: string, value: string])[];
	sent: SentRequest;
	fetch: typeof fetch;
}

/** Statuses whose responses have no body. */
const NO_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

export interface ProviderCall {
	/** The provider's slug. */
	provider: string;
	/** The model that the request names. */
	model: string | undefined;
	/** The JSON of the request. Present: the usage of a stream without counts is estimated. */
	estimatedFrom?: unknown;
	caller: Caller;
	exchange: GatewayExchange;
	signal: AbortSignal;
	services: Services;
}

/**
 * Throws 3021 beyond the account's rate, and 2005 if the provider cannot be reached, which is logged. Redirects are returned to the
 * caller.
 */
export async function callProvider(
	{ url, headers: own, sent, fetch }: ProviderTarget,
	{ provider, model, estimatedFrom, caller, exchange, signal, services }: ProviderCall,
): Promise<Response> {
	await countRequest("Provider Request", caller, services);
	const headers = forwardedHeaders(sent.headers);
	for (const [name, value] of own) headers.set(name, value);
	const { method, body } = sent;
	const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
	let response: Response;
	try {
		response = await fetch(url.href, {
			method,
			headers,
			redirect: "manual",
			signal,
			...(hasBody && { body }),
		});
	} catch (cause) {
		if (signal.aborted) throw new AiError("aborted");
		const error = new AiError("providerUnreachable", undefined, { cause });
		error.place = { account: exchange.account, gateway: exchange.gateway, provider, host: url.host };
		services.log(error, exchange.id);
		throw error;
	}
	const { status, statusText } = response;
	const answer = NO_BODY.has(status) ? null : response.body;
	const contentType = response.headers.get("content-type");
	// Other methods return earlier answers again, whose usage has been counted.
	const hasUsage = answer && response.ok && method === "POST";
	const request = { provider, model, estimatedFrom, exchange, services };
	return new Response(hasUsage ? withReportedUsage(answer, contentType, request) : answer, {
		status,
		statusText,
		headers: returnedHeaders(response.headers),
	});
}
