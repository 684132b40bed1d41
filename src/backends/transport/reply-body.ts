/** The body of an upstream's reply, read with a bound on time and on bytes. What ends it closes the deadline. */

import { Gathered } from "./body-buffer.ts";
import type { Deadline } from "./deadline.ts";
import { type Call, failureOfCut } from "./upstream-failure.ts";

/** What says that it is no longer comes at once, or not at all: nobody counts the time between its pieces. */
const SHORT_BYTES = 1024 * 1024;

/** A compressed body says how long it was before. */
export function isShort({ headers }: Response, maxBytes: number): boolean {
	const length = headers.get("content-length");
	return (
		length !== null &&
		Number(length) <= Math.min(SHORT_BYTES, maxBytes) &&
		headers.get("content-encoding") === null
	);
}

/** All of it, by the runtime itself: in pieces it costs more than all else that is done with a short reply. */
export async function readShort<T>(call: Call, deadline: Deadline, read: () => Promise<T>): Promise<T> {
	deadline.expect(call.target.timeouts.idleMs);
	try {
		return await deadline.race(read());
	} catch (error) {
		throw deadline.signal.aborted ? deadline.signal.reason : failureOfCut(call, error);
	} finally {
		deadline.close();
	}
}

/** The body's first bytes; `more`: there were others, and the upstream's fetch has been let go. */
export async function readUpTo(
	maxBytes: number,
	call: Call,
	response: Response,
	deadline: Deadline,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; more: boolean }> {
	if (isShort(response, maxBytes)) {
		const bytes = await readShort(call, deadline, () => response.arrayBuffer());
		return { bytes: new Uint8Array(bytes), more: false };
	}
	if (!response.body) {
		deadline.close();
		return { bytes: new Uint8Array(), more: false };
	}
	const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
	const body = new Gathered(maxBytes, response);
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
		const more = await deadline.race(readAll());
		return { bytes: body.take().subarray(0, maxBytes), more };
	} catch (error) {
		throw deadline.signal.aborted ? deadline.signal.reason : failureOfCut(call, error);
	} finally {
		deadline.close();
		reader.cancel().catch(() => {});
	}
}
