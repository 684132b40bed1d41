/**
 * Counts the gateways that a request has passed, so that a gateway which calls itself cannot multiply a request. Each outgoing call has
 * the header, and no caller can lower its value: an incoming value is only raised. The count follows a request without being passed
 * through its steps, because only requests of other gateways have one.
 */
import { AsyncLocalStorage } from "node:async_hooks";

export const HOP_HEADER = "x-ganglion-hop";

/** Gateways that a request may have passed before this one. */
export const MAX_HOPS = 4;

const passed = new AsyncLocalStorage<number>();

/** 0 for a request that no gateway has sent. */
export function hopsOf(headers: Headers): number {
	const text = headers.get(HOP_HEADER);
	if (text === null) return 0;
	// Another text is not from a gateway of this version, and may hide a loop.
	return /^\d{1,3}$/.test(text) ? Number(text) : MAX_HOPS + 1;
}

/** Runs the request. Its outgoing calls have passed `hops` gateways and this one. */
export const withHops = <T>(hops: number, run: () => T): T => passed.run(hops, run);

/** The gateways that the current request has passed before this one. */
export const passedHops = (): number => passed.getStore() ?? 0;
