/** What a caller asks of the way, not of the model: headers, and fields of coding agents, that every surface reads alike. */
import * as z from "zod";
import { parseJson } from "../json.ts";
import type { InferenceRequest, RequestOptions } from "../request.ts";

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
/** An identical request that is being answered may answer this one, too. */
const SINGLE_FLIGHT = "x-ganglion-single-flight";
/** A longer one is no id. */
const MAX_SESSION_CHARACTERS = 256;

/** Where agents that send no header have it: Codex, and Claude Code as JSON text. */
const SessionFields = z.object({
	prompt_cache_key: z.string().optional().catch(undefined),
	metadata: z.object({ user_id: z.string() }).optional().catch(undefined),
});
const UserId = z.object({ session_id: z.string() });

/** Beside a run's inputs, and on the chat route: `{"options": {"rejectIfBusy": true}}`. */
const GatewayOptions = z.object({ rejectIfBusy: z.literal(true) });

/** What of `options` is the gateway's to heed. */
const optionsOf = (options: unknown): RequestOptions => GatewayOptions.safeParse(options).data ?? {};

/** `fields`: the body, of a surface whose bodies may name a session. */
export function preferencesOf(
	headers: Headers,
	account: string,
	fields?: unknown,
	gatewayOptions?: unknown,
): Pick<InferenceRequest, "session" | "options"> {
	const session = (headerOf(headers) ?? sessionIn(fields))?.slice(0, MAX_SESSION_CHARACTERS);
	const shares = headers.get(SINGLE_FLIGHT);
	const singleFlight = shares !== null && /^(?:1|true)$/i.test(shares);
	return {
		// Of one account: an id that another account's client chose has nothing to do with this one.
		...(session && { session: `${account} ${session}` }),
		options: { ...optionsOf(gatewayOptions), ...(singleFlight && { singleFlight }) },
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

/** Of `extraHeaders`, as the binding takes them; what is no header is left out. */
export function headersIn(record: unknown): Headers {
	const headers = new Headers();
	if (typeof record !== "object" || record === null) return headers;
	for (const name of [...SESSION_HEADERS, SINGLE_FLIGHT]) {
		const [, value] = Object.entries(record).find(([key]) => key.toLowerCase() === name) ?? [];
		if (typeof value === "string" && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value);
	}
	return headers;
}
