/**
 * The bytes of large bodies count as buffered until the request has its answer or its caller has left. Before its token is verified the
 * account of a request is not known, and its body is small: it is not counted.
 */
import { BufferHold, UNCOUNTED_BYTES } from "../core/process-counts.ts";

const holds = new WeakMap<Request, BufferHold>();

/** The body of the request counts for the account. */
export const countBody = (request: Request, account: string): void =>
	void holds.set(request, new BufferHold(account).releaseOn(request.signal));

export const bodyHold = (request: Request): BufferHold | undefined => holds.get(request);

/** The request has its answer. */
export const releaseBody = (request: Request): void => holds.get(request)?.release();

const NUMBER_BYTES = 8;

/** The bytes of a value that came over RPC. Its depth is bounded, and it does not contain itself. */
export function holdValue(hold: BufferHold, value: unknown): void {
	const bytes = bytesOf(value);
	if (bytes > UNCOUNTED_BYTES) hold.grow(bytes);
}

function bytesOf(value: unknown): number {
	if (typeof value === "string") return value.length;
	if (typeof value !== "object" || value === null) return NUMBER_BYTES;
	if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
	let bytes = NUMBER_BYTES;
	for (const inner of Array.isArray(value) ? value : Object.values(value)) bytes += bytesOf(inner);
	return bytes;
}
