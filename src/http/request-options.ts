/**
 * Options of a request for the gateway, not for the model. All surfaces take them: headers, fields of coding agents, and `options` of a
 * run. In `options`, `tags` are validated and ignored.
 */
import * as z from "zod";
import { isRecord, parseRecord } from "../core/json.ts";
import { invalidInput } from "../dialects/invalid-input.ts";
import { validate } from "../dialects/validation/validation.ts";
import type { InferenceRequest } from "../pipeline/request.ts";

/**
 * Requests with the same value go to the same engine, which has the beginning of their prompt in its cache. The first is
 * the product's header. opencode and Kilo send the second, Claude Code the third, Codex the last two.
 */
const SESSION_HEADERS = [
	"x-session-affinity",
	"x-session-id",
	"x-claude-code-session-id",
	"session-id",
	"thread-id",
];
/** The request may share the answer of an identical request in progress. */
const SINGLE_FLIGHT = "x-ganglion-single-flight";
/** `batch`: the request waits for the capacity of a pool after all other requests. */
const PRIORITY = "x-ganglion-priority";
/** A longer value is truncated. */
const MAX_SESSION_CHARACTERS = 256;

/** A field beside a run's inputs, and of the chat route: `{"options": {"rejectIfBusy": true}}`. */
const GatewayOptions = z.object({ rejectIfBusy: z.literal(true) });

interface OptionSources {
	headers: Headers;
	/** The body, on surfaces whose bodies may contain a session. */
	fields?: unknown;
	/** `options` of a run, as the caller sent them. */
	options?: unknown;
}

type RequestSources = Omit<InferenceRequest, "session" | "options"> & OptionSources;

/** The request for the pipeline, with its options. */
export function inferenceRequest({ headers, fields, options, ...request }: RequestSources): InferenceRequest {
	const session = (sessionHeader(headers) ?? sessionField(fields))?.slice(0, MAX_SESSION_CHARACTERS);
	const singleFlight = /^(?:1|true)$/i.test(headers.get(SINGLE_FLIGHT) ?? "");
	const isBatch = /^batch$/i.test(headers.get(PRIORITY) ?? "");
	return {
		...request,
		// The account is part of the session, because clients of two accounts may choose the same id.
		...(session && { session: `${request.caller.account} ${session}` }),
		options: {
			// Invalid options are ignored.
			...(options !== undefined && GatewayOptions.safeParse(options).data),
			...(singleFlight && { singleFlight }),
			...(isBatch && { priority: "batch" }),
		},
	};
}

function sessionHeader(headers: Headers): string | undefined {
	for (const name of SESSION_HEADERS) {
		const value = headers.get(name);
		if (value) return value;
	}
	return undefined;
}

/** The session of agents that send no header: a field of Codex, and one of Claude Code, which contains JSON text. */
function sessionField(fields: unknown): string | undefined {
	if (!isRecord(fields)) return undefined;
	const { prompt_cache_key, metadata } = fields;
	if (typeof prompt_cache_key === "string" && prompt_cache_key !== "") return prompt_cache_key;
	const userId = isRecord(metadata) ? metadata.user_id : undefined;
	if (typeof userId !== "string") return undefined;
	const session = parseRecord(userId)?.session_id;
	return typeof session === "string" ? session : userId;
}

/** The headers above, from `extraHeaders` of the binding. Other headers and invalid values are ignored. */
export function headersIn(record: unknown): Headers {
	const headers = new Headers();
	if (typeof record !== "object" || record === null) return headers;
	for (const name of [...SESSION_HEADERS, SINGLE_FLIGHT, PRIORITY]) {
		const [, value] = Object.entries(record).find(([key]) => key.toLowerCase() === name) ?? [];
		if (typeof value === "string" && /^[\x20-\x7e]*$/.test(value)) headers.set(name, value);
	}
	return headers;
}

const MAX_TAGS = 5;
const MAX_TAG_CHARACTERS = 50;

/** Tags group requests. The limits are the ones that the product documents. Duplicates count once. */
const Tags = z.preprocess(
	(tags) => (Array.isArray(tags) ? [...new Set<unknown>(tags)] : tags),
	z
		.array(
			z
				.string()
				.max(MAX_TAG_CHARACTERS)
				.regex(/^[A-Za-z0-9:\-./@]*$/),
		)
		.max(MAX_TAGS),
);
const TaggedRequest = z.object({ options: z.looseObject({ tags: Tags.optional() }) });

/** `options`: as the caller sent them. Throws 5006. */
export function checkTags(options: unknown): void {
	if (typeof options === "object" && options !== null && "tags" in options)
		validate(TaggedRequest, { options });
}

const BACKGROUND = ["webhookUrl", "webhookFormat"] as const;

/** `options` of `POST /ai/run`: a caller who waits for a webhook must not get the answer at once. */
export function refuseBackground(options: unknown): void {
	if (!isRecord(options)) return;
	if (options.background === true || BACKGROUND.some((name) => options[name] !== undefined))
		throw invalidInput(
			"requests in the background (options.background, options.webhookUrl) are not available",
		);
}

/** Inputs that the asynchronous queue does not take (`src/surfaces/jobs/queued-run.ts`). */
export function refuseQueue(): never {
	throw invalidInput(
		"the asynchronous queue (queueRequest) takes the inputs {requests: […]} or {request_id}",
	);
}
