/** Reads the body of an upstream's reply, with limits on time and size. Closes the deadline at the end. */

import type { Deadline } from "../../outbound/deadline.ts";
import { BodyBuffer } from "./body-buffer.ts";
import { type Call, failureOfInterruption } from "./upstream-failure.ts";

/** A body of this length arrives at once or not at all: the time between its pieces is not limited. */
const SHORT_BYTES = 1024 * 1024;

/** Without its parameters, in lower case. */
export const mediaType = ({ headers }: Response): string | undefined =>
	headers.get("content-type")?.split(";", 1)[0]?.trim().toLowerCase();

/** The `content-length` of a compressed body does not limit its real length. */
export function isShort({ headers }: Response, maxBytes: number): boolean {
	const length = headers.get("content-length");
	return (
		length !== null &&
		Number(length) <= Math.min(SHORT_BYTES, maxBytes) &&
		headers.get("content-encoding") === null
	);
}

/**
 * Lets the runtime read the complete body. Reading a short body in pieces costs more than all other work on it. The caller races the
 * result with the deadline.
 */
export async function readShort<T>(call: Call, deadline: Deadline, read: () => Promise<T>): Promise<T> {
	deadline.expect(call.target.timeouts.idleMs);
	try {
		return await read();
	} catch (error) {
		throw deadline.signal.aborted ? deadline.signal.reason : failureOfInterruption(call, error);
	} finally {
		deadline.close();
	}
}

/** Reads the first `maxBytes` of the body. `truncated`: it is longer, and the upstream's fetch has been cancelled. */
export async function readUpTo(
	maxBytes: number,
	{ call, response, deadline }: { call: Call; response: Response; deadline: Deadline },
): Promise<{ bytes: Uint8Array<ArrayBuffer>; truncated: boolean }> {
	if (isShort(response, maxBytes)) {
		const bytes = await readShort(call, deadline, () => response.arrayBuffer());
		return { bytes: new Uint8Array(bytes), truncated: false };
	}
	if (!response.body) {
		deadline.close();
		return { bytes: new Uint8Array(), truncated: false };
	}
	const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
	const body = new BodyBuffer(maxBytes, response);
	const readAll = async (): Promise<boolean> => {
		for (;;) {
			deadline.expect(call.target.timeouts.idleMs);
			const { done, value } = await reader.read();
			if (done) return false;
			body.add(value);
			if (body.length > maxBytes) return true;
		}
	};
	try {
		const truncated = await deadline.race(readAll());
		return { bytes: body.take().subarray(0, maxBytes), truncated };
	} catch (error) {
		throw deadline.signal.aborted ? deadline.signal.reason : failureOfInterruption(call, error);
	} finally {
		deadline.close();
		reader.cancel().catch(() => {});
	}
}
