/** Options of a request that concern routing, not the model: headers, and fields of coding agents. The same on every surface. */
import * as z from "zod";
import { parseJson } from "../core/json.ts";
import type { InferenceRequest, RequestOptions } from "../pipeline/request.ts";

/**
 * Requests with the same value go to the same engine, where the beginning of their prompt is cached. The first is the
 * product's own header; opencode and Kilo send the second, Claude Code the third, Codex the last two.
 */
const SESSION_HEADERS = [
	"x-session-affinity",
	"x-session-id",
	"x-claude-code-session-id",
	"session-id",
	"thread-id",
];
/** This request may get the answer of an identical one that is under way. */
const SINGLE_FLIGHT = "x-ganglion-single-flight";
/** A longer value is cut. */
const MAX_SESSION_CHARACTERS = 256;

/** The session of agents that send no header: Codex's field, and Claude Code's, which holds JSON text. */
const SessionFields = z.object({
	prompt_cache_key: z.string().optional().catch(undefined),
	metadata: z.object({ user_id: z.string() }).optional().catch(undefined),
});
const UserId = z.object({ session_id: z.string() });

/** Beside a run's inputs, and on the chat route: `{"options": {"rejectIfBusy": true}}`. */
const GatewayOptions = z.object({ rejectIfBusy: z.literal(true) });

/** The fields of `options` that the gateway reads. */
const optionsOf = (options: unknown): RequestOptions => GatewayOptions.safeParse(options).data ?? {};

interface Sent {
	headers: Headers;
	account: string;
	/** The body, on surfaces whose bodies may name a session. */
	fields?: unknown;
	/** `options` of a run, as the caller sent them. */
	options?: unknown;
}

export function preferencesOf({
	headers,
	account,
	fields,
	options,
}: Sent): Pick<InferenceRequest, "session" | "options"> {
	const session = (headerOf(headers) ?? sessionIn(fields))?.slice(0, MAX_SESSION_CHARACTERS);
	const shares = headers.get(SINGLE_FLIGHT);
	const singleFlight = shares !== null && /^(?:1|true)$/i.test(shares);
	return {
		// With the account: clients of two accounts may choose the same id.
		...(session && { session: `${account} ${session}` }),
		options: { ...optionsOf(options), ...(singleFlight && { singleFlight }) },
	};
}

function headerOf(headers: Headers): string | undefined {
	for (const name of SESSION_HEADERS) {
		const value = headers.get(name);
		if (value) return value;
	}
	return undefined;
}

function sessionIn(fields: unknown): string | undefined {
	const { prompt_cache_key, metadata } = SessionFields.safeParse(fields).data ?? {};
	if (prompt_cache_key) return prompt_cache_key;
	const userId = metadata?.user_id;
	return userId && (UserId.safeParse(parseJson(userId)).data?.session_id ?? userId);
}

/** The headers above, from `extraHeaders` of the binding. Invalid values are left out. */
export function headersIn(record: unknown): Headers {
	const headers = new Headers();
	if (typeof record !== "object" || record === null) return headers;
	for (const name of [...SESSION_HEADERS, SINGLE_FLIGHT]) {
		const [, value] = Object.entries(record).find(([key]) => key.toLowerCase() === name) ?? [];
		if (typeof value === "string" && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value);
	}
	return headers;
}
