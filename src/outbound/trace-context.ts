/**
 * The trace of a caller (https://www.w3.org/TR/trace-context), which the calls of engines pass on unchanged, so that a collector shows what an
 * engine reports of a call below the caller's span. It follows a request without being passed through its steps, as its hops do.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { OutgoingRequest } from "./call-out.ts";

export const TRACEPARENT = "traceparent";

/** Version, trace, parent, flags. Ids of zeros are invalid. Only a later version than 00 may have more fields. */
const CALLERS_SPAN =
	/^(?!ff|00.{54})[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;

/** Characters. A version has 55, and later ones some more. */
const MAX_CHARACTERS = 512;

const passed = new AsyncLocalStorage<string>();

/** The ids of a valid header. */
export function spanIn(traceparent: string): { trace: string; parent: string } | undefined {
	const [, trace, parent] = CALLERS_SPAN.exec(traceparent) ?? [];
	return trace === undefined || parent === undefined ? undefined : { trace, parent };
}

/** Runs the request. A header that is absent or invalid is not passed on. */
export function withTrace<T>(headers: Headers, run: () => T): T {
	const traceparent = headers.get(TRACEPARENT);
	if (traceparent === null || traceparent.length > MAX_CHARACTERS || !spanIn(traceparent)) return run();
	return passed.run(traceparent, run);
}

/** The headers of a call of an engine. Those of the operator win. Without a trace the same object, which may be that of many calls. */
export function withPassedTrace(headers: OutgoingRequest["headers"]): OutgoingRequest["headers"] {
	const traceparent = passed.getStore();
	if (traceparent === undefined) return headers;
	const own = new Headers(headers);
	if (!own.has(TRACEPARENT)) own.set(TRACEPARENT, traceparent);
	return own;
}
