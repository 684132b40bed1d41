/**
 * The caller's trace (https://www.w3.org/TR/trace-context). Calls of engines have its header, so that a collector shows the engine's
 * spans below the caller's span. Like the hops, it follows a request without being passed through its steps.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { OutgoingRequest } from "./call-out.ts";

export const TRACEPARENT = "traceparent";

/** Version, trace, parent, flags. Ids of zeros are invalid. Only a later version than 00 may have more fields. */
const CALLERS_SPAN =
	/^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

const passed = new AsyncLocalStorage<string | undefined>();

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
	trace === passed.getStore() ? run() : passed.run(trace, run);

/** Runs a part of the request. Its calls have the part's own header, if it has one, and else that of the request. */
export const withOwnTrace = <T>(headers: Headers, run: () => T): T =>
	withTrace(traceOf(headers) ?? passed.getStore(), run);

/** The headers of a call that runs a model. Those of the operator win. Without a trace the same object, which may be that of many calls. */
export function withPassedTrace(
	headers: OutgoingRequest["headers"],
	{ withoutTrace }: { withoutTrace?: true },
): OutgoingRequest["headers"] {
	const traceparent = passed.getStore();
	if (traceparent === undefined || withoutTrace) return headers;
	const extended = new Headers(headers);
	if (!extended.has(TRACEPARENT)) extended.set(TRACEPARENT, traceparent);
	return extended;
}
