/**
 * The only way out: every HTTP request to an engine, a provider, a collector or another server goes through `callOut`. Redirects are
 * returned, not followed, because credentials and prompts are only for the host that was named. The time of a call is limited by its
 * signal: that of a `Deadline`, or of `shortCall`. `test/node/outbound.test.ts` finds other calls of `fetch`.
 */
import { type OutgoingHeaders, withPassed } from "./passed-headers.ts";

export interface OutgoingRequest {
	fetch: typeof fetch;
	url: string;
	method: string;
	headers: OutgoingHeaders;
	body?: BodyInit | undefined;
	/** Also with the caller's trace. */
	sendsTrace?: boolean;
	/** Ends the call: the caller left, or a time limit passed. Not the signal of an incoming request, which the runtime ignores. */
	signal: AbortSignal;
}

/** Rejects with the runtime's error, or with the reason of the signal. */
export function callOut({
	fetch,
	url,
	method,
	headers,
	body,
	sendsTrace = false,
	signal,
}: OutgoingRequest): Promise<Response> {
	signal.throwIfAborted();
	return fetch(url, {
		method,
		headers: withPassed(headers, sendsTrace),
		redirect: "manual",
		signal,
		...(body !== undefined && { body }),
	});
}
