/** A call of a store over HTTP, whose answer is JSON. Its time and the bytes of its answer are limited. */
import { AiError } from "../../../core/errors.ts";
import { parseJson } from "../../../core/json.ts";
import { boundedText } from "../../../outbound/bounded-text.ts";
import { callOut } from "../../../outbound/call-out.ts";
import { Deadline } from "../../../outbound/deadline.ts";
import { limitedBody } from "../../../outbound/limited-body.ts";
import { DATABASE_CALL } from "../../../outbound/limits.ts";
import type { ExternalIndex, StoreServices } from "./external-store.ts";
import { storeFailed } from "./store-failed.ts";

export interface JsonCall {
	method: "DELETE" | "GET" | "POST" | "PUT";
	url: string;
	headers: Readonly<Record<string, string>>;
	body?: string;
}

export interface JsonAnswer {
	status: number;
	/** `undefined`: the answer is not JSON. */
	value: unknown;
}

const NO_SIGNAL = new AbortController().signal;

/** Throws 502 if the store cannot be reached, is too slow, or sends too much. */
export async function callStore(
	{ body, headers, method, url }: JsonCall,
	{ name, signal = NO_SIGNAL }: Pick<ExternalIndex, "name" | "signal">,
	{ fetch, now }: StoreServices,
): Promise<JsonAnswer> {
	const { maxBytes, silentMs, totalMs } = DATABASE_CALL;
	const late = (ms: number) => storeFailed(name, `did not answer within ${ms} ms`);
	const deadline = new Deadline({ now, signal, totalMs, silent: late, late });
	try {
		deadline.expect(silentMs);
		const request = { fetch, url, method, headers, body, signal: deadline.signal };
		const { body: answer, status } = await deadline.race(callOut(request));
		const limited = answer && limitedBody(answer, { idleMs: silentMs, deadline });
		const text = limited ? await boundedText(limited, maxBytes) : "";
		if (text === undefined) throw storeFailed(name, `has sent more than ${maxBytes} bytes`);
		return { status, value: parseJson(text) };
	} catch (error) {
		throw error instanceof AiError ? error : storeFailed(name, "cannot be reached", error);
	} finally {
		deadline.close();
	}
}
