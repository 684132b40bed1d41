/** A call whose answer is a short text, such as the load of an engine or the confirmation of a collector. */
import { endedAfter } from "../core/with-timeout.ts";
import { boundedText, unread } from "./bounded-text.ts";
import { callOut, type OutgoingRequest } from "./call-out.ts";

interface ShortCall extends Omit<OutgoingRequest, "method" | "signal"> {
	method?: string;
	/** Ends the call earlier. */
	signal?: AbortSignal;
	/** Milliseconds, with the answer. */
	timeoutMs: number;
	/** Bytes of the answer that are read. 0: it is not read. */
	maxBytes: number;
}

interface ShortAnswer {
	ok: boolean;
	status: number;
	/** `undefined`: the status is not 2xx, or the text is too long. */
	text: string | undefined;
}

/** Throws if the server cannot be reached, or is too slow. */
export function shortCall({
	timeoutMs,
	maxBytes,
	method = "GET",
	signal: earlier,
	...request
}: ShortCall): Promise<ShortAnswer> {
	const late = () => new DOMException(`No answer within ${timeoutMs} ms`, "TimeoutError");
	return endedAfter(timeoutMs, late, async (signal) => {
		const either = earlier ? AbortSignal.any([signal, earlier]) : signal;
		const response = await callOut({ ...request, method, signal: either });
		const { ok, status } = response;
		return {
			ok,
			status,
			text: ok ? await boundedText(response.body, maxBytes) : await unread(response.body),
		};
	});
}
