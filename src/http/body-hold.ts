/**
 * The bytes of large bodies count as buffered until the request has its answer or its caller has left. Before its token is verified the
 * account of a request is not known, and its body is small: it is not counted.
 */
import { BufferHold } from "../core/process-counts.ts";

const holds = new WeakMap<Request, BufferHold>();

/** The body of the request counts for the account. */
export const countBody = (request: Request, account: string): void =>
	void holds.set(request, new BufferHold(account).releaseOn(request.signal));

export const bodyHold = (request: Request): BufferHold | undefined => holds.get(request);

/** The request has its answer. */
export const releaseBody = (request: Request): void => holds.get(request)?.release();
