/** What a caller asks of the way, not of the model: headers that every surface reads alike. */
import type { InferenceRequest } from "../request.ts";

/** Requests with the same value go to the same engine, where its cached prompt is (the product's own header). */
const SESSION = "x-session-affinity";
/** An identical request that is being answered may answer this one, too. */
const SINGLE_FLIGHT = "x-ganglion-single-flight";
/** A longer one is no id. */
const MAX_SESSION_CHARACTERS = 256;

export function preferencesOf(headers: Headers): Pick<InferenceRequest, "session" | "options"> {
	const session = headers.get(SESSION)?.slice(0, MAX_SESSION_CHARACTERS);
	const shares = headers.get(SINGLE_FLIGHT);
	const singleFlight = shares !== null && /^(?:1|true)$/i.test(shares);
	return { ...(session && { session }), ...(singleFlight && { options: { singleFlight } }) };
}

/** Of `extraHeaders`, as the binding takes them; what is no header is left out. */
export function headersIn(record: unknown): Headers {
	const headers = new Headers();
	if (typeof record !== "object" || record === null) return headers;
	for (const name of [SESSION, SINGLE_FLIGHT]) {
		const [, value] = Object.entries(record).find(([key]) => key.toLowerCase() === name) ?? [];
		if (typeof value === "string" && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value);
	}
	return headers;
}
