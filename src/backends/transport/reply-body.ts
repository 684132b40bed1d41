/** Reads the body of an upstream's reply, with limits on time and size. Closes the deadline at the end. */
import { AiError } from "../../core/errors.ts";
import { UNCOUNTED_BYTES } from "../../core/process-counts.ts";
import type { Deadline } from "../../outbound/deadline.ts";
import { LargeReads } from "../../streams/large-reads.ts";
import { BodyBuffer } from "./body-buffer.ts";
import { type Call, failureOfInterruption } from "./upstream-failure.ts";

/** A body of this length arrives at once or not at all: the time between its pieces is not limited. */
const SHORT_BYTES = 1024 * 1024;

/** Without its parameters, in lower case. */
export const mediaType = ({ headers }: Response): string | undefined =>
	headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();

/** By `content-length`. 0: unknown. */
const announcedBytes = ({ headers }: Response): number => Number(headers.get("content-length")) || 0;

/** The `content-length` of a compressed body does not limit its real length. */
export function isShort({ headers }: Response, maxBytes: number): boolean {
	const length = headers.get("content-length");
	return (
		length !== null &&
		Number(length) <= Math.min(SHORT_BYTES, maxBytes) &&
		headers.get("content-encoding") === null
	);
}

/** A reply whose body has not been read. */
interface ReadReply {
	call: Call;
	response: Response;
	deadline: Pick<Deadline, "close" | "expect" | "race" | "signal">;
}

/**
 * Lets the runtime read the complete body. Reading a short body in pieces costs more than all other work on it. The caller races the
 * result with the deadline.
 */
export async function readShort<T>(reply: ReadReply, read: () => Promise<T>): Promise<T> {
	const { call, response, deadline } = reply;
	deadline.expect(call.target.timeouts.idleMs);
	try {
		heldBytes(call).growTo(announcedBytes(response));
		return await read();
	} catch (error) {
		if (!response.bodyUsed) response.body?.cancel().catch(() => {});
		throw failureOfRead(error, reply);
	} finally {
		deadline.close();
	}
}

/** Reads the first `maxBytes` of the body. `truncated`: it is longer, and the upstream's fetch has been cancelled. */
export async function readUpTo(
	maxBytes: number,
	reply: ReadReply,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; truncated: boolean }> {
	const { call, response, deadline } = reply;
	if (isShort(response, maxBytes)) {
		const bytes = await readShort(reply, () => response.arrayBuffer());
		return { bytes: new Uint8Array(bytes), truncated: false };
	}
	if (!response.body) {
		deadline.close();
		return { bytes: new Uint8Array(), truncated: false };
	}
	const reader = new LargeReads(response.body);
	const held = heldBytes(call);
	const readAll = async (body: BodyBuffer): Promise<boolean> => {
		for (;;) {
			deadline.expect(call.target.timeouts.idleMs);
			const piece = await reader.pull();
			if (!piece) return false;
			held.growTo(body.length + piece.length);
			body.add(piece);
			if (body.length > maxBytes) return true;
		}
	};
	try {
		const announced = announcedBytes(response);
		// A buffer of this length is made before the body arrives.
		if (announced <= maxBytes) held.growTo(announced);
		const body = new BodyBuffer(maxBytes, response);
		const truncated = await deadline.race(readAll(body));
		return { bytes: body.take().subarray(0, maxBytes), truncated };
	} catch (error) {
		throw failureOfRead(error, reply);
	} finally {
		deadline.close();
		reader.cancel().catch(() => {});
	}
}

/** The bytes of one reply that count for the request. */
export function heldBytes(call: Call): { growTo(bytes: number): void } {
	let held = 0;
	return {
		growTo(bytes) {
			if (bytes <= Math.max(held, UNCOUNTED_BYTES)) return;
			call.holdReply?.(bytes - held);
			held = bytes;
		},
	};
}

function failureOfRead(error: unknown, { call, deadline }: ReadReply): unknown {
	if (deadline.signal.aborted) return deadline.signal.reason;
	return error instanceof AiError ? error : failureOfInterruption(call, error);
}
