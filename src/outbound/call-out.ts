/**
 * The only way out: every HTTP request to an engine, a provider, a collector or another server goes through `callOut`. Redirects are
 * returned, not followed, because credentials and prompts are only for the host that was named. The time of a call is limited by its
 * signal: that of a `Deadline`, or of `shortCall`. `test/node/outbound.test.ts` finds other calls of `fetch`.
 */
import { HOP_HEADER, passedHops } from "./hops.ts";

export interface OutgoingRequest {
	fetch: typeof fetch;
	url: string;
	method: string;
	/** A `Headers` may be that of many calls. */
	headers: Headers | Readonly<Record<string, string>>;
	body?: BodyInit | undefined;
	/** Ends the call: the caller left, or a time limit passed. Not the signal of an incoming request, which the runtime ignores. */
	signal: AbortSignal;
}

/** Rejects with the runtime's error, or with the reason of the signal. */
export function callOut({ fetch, url, method, headers, body, signal }: OutgoingRequest): Promise<Response> {
	signal.throwIfAborted();
	return fetch(url, {
		method,
		headers: withHop(headers),
		redirect: "manual",
		signal,
		...(body !== undefined && { body }),
	});
}

/** Nearly all calls have the same hop, so it stays in a `Headers` of many calls. */
function withHop(headers: OutgoingRequest["headers"]): HeadersInit {
	const hop = String(passedHops() + 1);
	if (!(headers instanceof Headers)) return { ...headers, [HOP_HEADER]: hop };
	const present = headers.get(HOP_HEADER);
	if (present === hop) return headers;
	const own = present === null && hop === "1" ? headers : new Headers(headers);
	own.set(HOP_HEADER, hop);
	return own;
}
