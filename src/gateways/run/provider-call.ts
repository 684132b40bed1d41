/**
 * Passes a request to a provider: the method, the body and the remaining headers unchanged, and the answer as it arrives. The call is
 * counted against the account's rate, and not billed: the provider charges the owner of the key.
 */
import { AiError } from "../../core/errors.ts";
import { countRequest } from "../../http/count-request.ts";
import { callOut } from "../../outbound/call-out.ts";
import { Deadline } from "../../outbound/deadline.ts";
import { limitedBody } from "../../outbound/limited-body.ts";
import type { Caller } from "../../pipeline/request.ts";
import type { GatewayExchange } from "../exchange.ts";
import { forwardedHeaders, returnedHeaders } from "../providers/headers.ts";
import type { GatewayServices } from "../services.ts";
import { reportUnanswered, withReportedUsage } from "./passed-usage.ts";
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
	/** The JSON of the request. */
	fields: unknown;
	/** The usage of a complete stream without counts is estimated. */
	estimates: boolean;
	caller: Caller;
	exchange: GatewayExchange;
	signal: AbortSignal;
	services: GatewayServices;
}

/**
 * Throws 3021 beyond the account's rate, and 2005 if the provider cannot be reached, which is logged. Redirects are returned to the
 * caller.
 */
export async function callProvider(
	{ url, headers: own, sent, fetch }: ProviderTarget,
	{ provider, model, fields, estimates, caller, exchange, signal, services }: ProviderCall,
): Promise<Response> {
	await countRequest("Provider Request", caller, services);
	const headers = forwardedHeaders(sent.headers);
	for (const [name, value] of own) headers.set(name, value);
	const { method, body } = sent;
	const hasBody = body !== undefined && method !== "GET" && method !== "HEAD";
	const { headerMs, idleMs, totalMs } = services.gatewayRules.providerTimeouts;
	const late = (limitMs: number): AiError =>
		new AiError("attemptTimeout", `The provider did not answer within ${limitMs} ms`);
	const { now, startTimer } = services;
	const deadline = new Deadline({ signal, totalMs, now: () => now(), startTimer, silent: late, late });
	deadline.expect(headerMs);
	// Other methods return earlier answers again, whose usage has been counted.
	const hasUsage = method === "POST";
	const request = { provider, model, fields, estimates, exchange, services };
	const isUnsent = signal.aborted;
	let response: Response;
	try {
		response = await deadline.race(
			callOut({
				fetch,
				url: url.href,
				method,
				headers,
				body: hasBody ? body : undefined,
				signal: deadline.signal,
			}),
		);
	} catch (cause) {
		deadline.close();
		if (signal.aborted && !isUnsent && hasUsage) reportUnanswered(request);
		if (deadline.signal.aborted) throw deadline.signal.reason;
		const error = new AiError("providerUnreachable", undefined, { cause });
		error.place = { account: exchange.account, gateway: exchange.gateway, provider, host: url.host };
		services.log(error, exchange.id);
		throw error;
	}
	const { status, statusText } = response;
	const isEmpty = NO_BODY.has(status) || !response.body;
	if (isEmpty) deadline.close();
	const length = response.headers.get("content-length");
	const answer = isEmpty || !response.body ? null : limitedBody(response.body, { idleMs, deadline, length });
	const contentType = response.headers.get("content-type");
	return new Response(
		answer && response.ok && hasUsage ? withReportedUsage(answer, contentType, request) : answer,
		{
			status,
			statusText,
			headers: returnedHeaders(response.headers),
		},
	);
}
