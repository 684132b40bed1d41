/**
 * The failures of a search, with the codes that Cloudflare's Web Search and its client in `agents` use. The categories are our own,
 * because the product documents none.
 */
import type { AiError } from "../core/errors.ts";

interface SearchFailure {
	code: string;
	status: 400 | 401 | 402 | 429 | 503 | 504;
	category: "authentication" | "billing" | "configuration" | "rate_limit" | "upstream" | "validation";
	/** Whether the same request may succeed later. */
	retryable: boolean;
	description: string;
}

const SEARCH_FAILURES = {
	invalidInput: {
		code: "invalid_web_search_input",
		status: 400,
		category: "validation",
		retryable: false,
		description: "The search provider refuses the query",
	},
	noStoredKey: {
		code: "web_search_byok_not_configured",
		status: 400,
		category: "configuration",
		retryable: false,
		description: "The gateway has no stored key with this alias",
	},
	unauthorized: {
		code: "web_search_unauthorized",
		status: 401,
		category: "authentication",
		retryable: false,
		description: "The search provider refuses the stored key",
	},
	paymentRequired: {
		code: "web_search_payment_required",
		status: 402,
		category: "billing",
		retryable: false,
		description:
			"No search provider is set up: the operator sets WEB_SEARCH, or the gateway stores a key of a provider",
	},
	rateLimited: {
		code: "web_search_rate_limited",
		status: 429,
		category: "rate_limit",
		retryable: true,
		description: "Too many searches",
	},
	unavailable: {
		code: "web_search_unavailable",
		status: 503,
		category: "upstream",
		retryable: true,
		description: "The search provider did not answer",
	},
	timeout: {
		code: "web_search_timeout",
		status: 504,
		category: "upstream",
		retryable: true,
		description: "The search provider did not answer in time",
	},
} as const satisfies Record<string, SearchFailure>;

type SearchFailureKey = keyof typeof SEARCH_FAILURES;

/** The message reaches the caller. It contains no query and no secret. */
export class SearchError extends Error {
	override readonly name = "SearchError";
	readonly key: SearchFailureKey;
	/** Seconds. */
	readonly retryAfter: number | undefined;

	constructor(
		key: SearchFailureKey,
		description?: string,
		options: { cause?: unknown; retryAfter?: number | undefined } = {},
	) {
		super(description ?? SEARCH_FAILURES[key].description, { cause: options.cause });
		this.key = key;
		this.retryAfter = options.retryAfter;
	}

	get failure(): SearchFailure {
		return SEARCH_FAILURES[this.key];
	}
}

/**
 * The failure of a call of a provider. `isOwnKey`: the key is the account's, so the account can correct it. `refusals`: meanings of
 * statuses at this provider.
 */
export function failureOfProvider(
	error: AiError,
	{ isOwnKey, refusals = {} }: { isOwnKey: boolean; refusals?: Readonly<Record<number, string>> | undefined },
): SearchError {
	const { retryAfter, upstream } = error;
	const { status } = upstream ?? {};
	const options = { cause: error, retryAfter };
	const meaning = status === undefined ? undefined : refusals[status];
	if (meaning !== undefined) return new SearchError("unavailable", meaning, options);
	if (status === 401 || status === 403) {
		if (isOwnKey) return new SearchError("unauthorized", undefined, options);
		return new SearchError("unavailable", "The search provider refuses the operator's key", options);
	}
	if (status === 402)
		return new SearchError("paymentRequired", "The search provider has no credits left", options);
	if (status === 429 || status === 432 || status === 433)
		return new SearchError("rateLimited", undefined, options);
	if (status === 400 || status === 413 || status === 422)
		return new SearchError("invalidInput", undefined, options);
	if (error.key === "timeout" || error.key === "modelTimeout")
		return new SearchError("timeout", undefined, options);
	return new SearchError("unavailable", undefined, options);
}
