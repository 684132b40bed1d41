/**
 * Two headers that follow a request to its outgoing calls, without being passed through its steps: most requests have neither.
 *
 * The hops count the gateways that a request has passed, so that a gateway which calls itself cannot multiply a request. Each outgoing call
 * has the header, and no caller can lower its value: an incoming value is only raised.
 *
 * The trace is the caller's (https://www.w3.org/TR/trace-context). Calls of engines have its header, so that a collector shows the engine's
 * spans below the caller's span.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** A `Headers` may be that of many calls. */
export type OutgoingHeaders = Headers | Readonly<Record<string, string>>;

export const HOP_HEADER = "x-ganglion-hop";
export const TRACEPARENT = "traceparent";

/** Gateways that a request may have passed before this one. */
export const MAX_HOPS = 4;

/** Version, trace, parent, flags. Ids of zeros are invalid. Only a later version than 00 may have more fields. */
const CALLERS_SPAN =
	/^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

const hopsOfRequest = new AsyncLocalStorage<number>();
const traceOfRequest = new AsyncLocalStorage<string | undefined>();

/** 0 for a request that no gateway has sent. */
export function hopsOf(headers: Headers): number {
	const text = headers.get(HOP_HEADER);
	if (text === null) return 0;
	// Another text is not from a gateway of this version, and may hide a loop.
	return /^\d{1,3}$/.test(text) ? Number(text) : MAX_HOPS + 1;
}

/** Runs the request. Its outgoing calls have passed `hops` gateways and this one. */
export const withHops = <T>(hops: number, run: () => T): T => hopsOfRequest.run(hops, run);

/** The gateways that the current request has passed before this one. */
export const passedHops = (): number => hopsOfRequest.getStore() ?? 0;

/** The fields of a valid header. */
export function spanIn(traceparent: string): { trace: string; parent: string; flags: string } | undefined {
	const [, trace, parent, flags] = CALLERS_SPAN.exec(traceparent) ?? [];
	if (trace === undefined || parent === undefined || flags === undefined) return undefined;
	return { trace, parent, flags };
}

/**
 * The header of the caller, as that of version 00: the further fields of a later version may be any text. `undefined`: it is absent or
 * invalid.
 */
export function traceOf(headers: Headers): string | undefined {
	const traceparent = headers.get(TRACEPARENT);
	const span = traceparent === null ? undefined : spanIn(traceparent);
	return span && `00-${span.trace}-${span.parent}-${span.flags}`;
}

/** Runs the request. Its calls of engines have the header `trace`. */
export const withTrace = <T>(trace: string | undefined, run: () => T): T =>
	trace === traceOfRequest.getStore() ? run() : traceOfRequest.run(trace, run);

/** Runs a part of the request. Its calls have the part's own header, if it has one, and else that of the request. */
export const withOwnTrace = <T>(headers: Headers, run: () => T): T =>
	withTrace(traceOf(headers) ?? traceOfRequest.getStore(), run);

/**
 * The headers of a call with those of the request. `sendsTrace`: also with the trace, unless the operator has set one. Nearly all calls have
 * the same hop and no trace, so the hop stays in a `Headers` of many calls.
 */
export function withPassed(headers: OutgoingHeaders, sendsTrace: boolean): HeadersInit {
	const hop = String(passedHops() + 1);
	const trace = sendsTrace ? traceOfRequest.getStore() : undefined;
	if (trace !== undefined) {
		const own = new Headers(headers);
		if (!own.has(TRACEPARENT)) own.set(TRACEPARENT, trace);
		own.set(HOP_HEADER, hop);
		return own;
	}
	if (!(headers instanceof Headers)) return { ...headers, [HOP_HEADER]: hop };
	const present = headers.get(HOP_HEADER);
	if (present === hop) return headers;
	const own = present === null && hop === "1" ? headers : new Headers(headers);
	own.set(HOP_HEADER, hop);
	return own;
}
