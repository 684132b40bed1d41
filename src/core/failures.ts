/**
 * All failures that the gateway can answer with, in one table.
 *
 * Codes, statuses and names are the product's (developers.cloudflare.com/workers-ai/platform/errors, and observed replies if
 * that page has none).
 */
import { afterCall, edge, type Failure, gateway, inference } from "./failure.ts";
import { SEARCH_FAILURES } from "./search-failures.ts";

export type { Failure };

/** Also without rights, or without room for further files. The log of the gateway has the reason. */
export const DISK_UNWRITABLE = "The disk of the gateway is full or cannot be written";

export const FAILURES = {
	incompleteRequest: inference(3003, 400, "Incomplete request", "Request is missing headers or body"),
	requestTooLarge: inference(3006, 413, "Request too large", "Request is too large"),
	timeout: afterCall(inference(3007, 408, "Timeout", "Request timeout", true)),
	aborted: afterCall(inference(3008, 408, "Aborted", "Request was aborted")),
	rateLimited: inference(3021, 429, "AiError", "rate limiting: inference request per min rate reached"),
	refusedByModel: afterCall(inference(3030, 400, "AiError", "The model refused the request")),
	accountLimited: inference(
		3036,
		429,
		"Account limited",
		"You have used up your daily free allocation of 10,000 neurons",
	),
	/** A budget of an account, a token or a model that the operator has set. The description names it. */
	budgetExceeded: inference(3036, 429, "Account limited", "A daily budget of neurons is used up"),
	/** The rest of a budget is reserved by requests that still run. Their ends free what they do not use. The description names the budget. */
	budgetReserved: inference(
		3036,
		429,
		"Account limited",
		"A budget of neurons is reserved by running requests",
	),
	outOfCapacity: inference(
		3040,
		429,
		"Out of capacity",
		"Capacity temporarily exceeded, please try again.",
		true,
	),
	modelTimeout: afterCall(inference(3046, 408, "AiError", "Request timeout", true)),
	/** Production sends this code instead of the documented 3036. */
	freeAllocationUsed: inference(
		4006,
		429,
		"AiError",
		"you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan if you would like to continue usage.",
	),
	executionFailed: afterCall(inference(5001, 500, "AiError", "Model execution failed", true)),
	invalidData: inference(5004, 400, "Invalid data", "Invalid data type for base64 input"),
	loraUnsupported: inference(5005, 405, "LoRa unsupported", "The model does not support LoRa inference"),
	badInput: inference(5006, 400, "Bad input", "Error: invalid input"),
	noSuchModel: inference(5007, 400, "No such model", "No such model or task"),
	deprecatedSdk: inference(
		5019,
		405,
		"Deprecated SDK version",
		"Request trying to use deprecated SDK version",
	),
	contextWindowExceeded: inference(
		5021,
		413,
		"AiError",
		"The estimated number of input and maximum output tokens exceeded this model context window limit",
	),
	jsonModeUnmet: afterCall(inference(5024, 400, "AiError", "JSON Model couldn't be met")),
	deprecatedModel: inference(5028, 410, "Model has been deprecated", "Model has been deprecated"),
	paidPlanRequired: inference(
		5035,
		403,
		"Model requires Workers Paid plan",
		"This model is not available on the Workers Free plan",
	),
	invalidInput: inference(8001, 400, "AiError", "Invalid input"),
	engineRefused: afterCall(inference(8007, 400, "AiError", "The engine refused the request")),
	/** The upstream cannot be reached, or refuses the gateway's credentials. Only the operator can correct this. */
	upstreamUnavailable: afterCall(
		inference(7009, 502, "Upstream unavailable", "Upstream service unavailable", true),
	),
	authentication: edge(
		10000,
		401,
		"Authentication error: no valid token. Send one of the account as bearer token or API key (docs/accounts.md#tokens)",
	),
	/** The token is valid but lacks the permission. */
	forbidden: edge(10000, 403, "Authentication error"),
	/** The token is valid, but the token or its account binds a gateway, and this request may not run outside it. The description names the gateway. */
	gatewayRequired: edge(9109, 403, "Unauthorized to access requested resource"),
	/** The account's object cannot be reached. Requests that cannot be counted are not served. */
	ledgerUnavailable: edge(7009, 502, "Upstream service unavailable"),
	/** The remaining space is for the accounts, or they have none either. The description names what is not stored. */
	diskFull: edge(7009, 503, `${DISK_UNWRITABLE}: its accounts cannot be written`),
	/** The bytes or the items of an account have reached their bound (`STORAGE`). The description names it. */
	storageFull: edge(3006, 413, "The account's storage is full"),
	/** A store cannot be reached, or has failed. Only the operator can correct this. */
	storageUnavailable: edge(7009, 502, "Storage unavailable"),
	/** An invalid body or query of the account routes (tokens, usage). The description names the field. */
	invalidRequest: edge(1001, 400, "Invalid request"),
	/** A body of those routes, or of AI Gateway's management routes, that is too large. */
	fieldsTooLarge: edge(1001, 413, "Request is too large"),
	/** An invalid body or query of AI Gateway's management routes. The description names the field. */
	invalidGatewayRequest: edge(7001, 400, "Invalid request"),
	noRoute: edge(7000, 400, "No route for that URI"),
	/** The request has passed too many gateways (`src/outbound/passed-headers.ts`). */
	gatewayLoop: edge(7000, 508, "The request runs in a circle: a gateway calls itself"),
	notFound: edge(7002, 404, "Not found"),
	/** Stored responses (`src/responses`). The codes are no codes of the product, which stores none. */
	previousResponseNotFound: edge(7002, 400, "Previous response not found."),
	itemNotFound: edge(7002, 400, "Item not found."),
	responseStoreFull: edge(7001, 429, "The account's stored responses have reached their limit."),
	/** Adapters (`src/jobs/adapters`). */
	adapterIncomplete: inference(
		3039,
		400,
		"Finetune missing required files",
		"Finetune is missing required files (model.safetensors and config.json)",
	),
	noSuchAdapter: edge(7002, 404, "No such fine-tune"),
	/** An account whose data are being deleted, or were deleted a short time ago (`deleted-accounts.ts`). */
	accountDeleted: edge(1001, 409, "The data of the account are being deleted"),
	adapterExists: edge(1001, 409, "The account has a fine-tune with this name"),
	/** Files and batches (`src/jobs`). */
	noSuchFile: edge(7002, 404, "No such File object"),
	noSuchBatch: edge(7002, 404, "No such Batch object"),
	/** The object of the account's stored responses cannot be called. */
	responseStoreUnavailable: edge(7009, 502, "Stored responses are unavailable"),
	/** Vector indexes (`src/retrieval/vectors`). Codes without a known text of the product: docs/choices.md. */
	vectorIndexNotFound: edge(3000, 404, "vectorize.index.not_found"),
	vectorIndexExists: edge(3002, 409, "vectorize.index.duplicate_name"),
	vectorQueryWidth: edge(40006, 400, "invalid query vector"),
	tooManyVectorIds: edge(40007, 400, "too many ids in payload"),
	vectorIdTooLong: edge(40008, 400, "id too long"),
	vectorNamespaceTooLong: edge(40009, 400, "namespace too long"),
	tooManyVectors: edge(40011, 400, "too many vectors in payload"),
	vectorWidth: edge(40012, 400, "invalid vector"),
	vectorMetadataInvalid: edge(40015, 400, "invalid metadata"),
	vectorMetadataTooLarge: edge(40016, 400, "oversized metadata"),
	vectorFilterNotIndexed: edge(40022, 400, "filter: a property has no metadata index"),
	vectorsUnreadable: edge(40023, 400, "failed to parse vectors request"),
	vectorTopKTooLarge: edge(40025, 400, "max top K is 100"),
	vectorQueryUnreadable: edge(40026, 400, "Failed to parse the request body as JSON"),
	vectorCursorInvalid: edge(40027, 400, "the cursor is not valid or has expired"),
	tooManyMetadataIndexes: edge(40028, 400, "too many metadata indexes"),
	/** The objects or the store of an index cannot be called. */
	vectorsUnavailable: edge(7009, 502, "Vector indexes are unavailable"),
	...SEARCH_FAILURES,
	methodNotAllowed: edge(7001, 405, "Method not supported for requested URI."),
	/** Neither the product nor this gateway supports websockets on the route. */
	noWebsocket: edge(7001, 426, "Websockets are not supported for requested URI: send a POST request."),
	unroutableAccount: edge(
		7003,
		404,
		"Could not route to that account, perhaps your object identifier is invalid?",
	),
	noSuchGateway: gateway(2001, 400, "Please configure AI Gateway: the account has no such gateway"),
	/** A limit of the gateway, or of one of its dynamic routes. */
	gatewayLimited: gateway(2003, 429, "Rate limited"),
	/** The id of a stream to resume is malformed. The product has this code with status 500. */
	malformedRun: gateway(2002, 400, "Invalid run id"),
	/** A spend rule of the gateway. The description names it. */
	spendLimited: gateway(2045, 429, "Spend limit exceeded"),
	invalidProvider: gateway(2008, 400, "Invalid provider"),
	/** The body of a chat at `compat`. The description names the field. */
	badChatFormat: gateway(2019, 400, "Chat completion bad format"),
	/** Guardrails of the gateway (`src/gateways/guardrails`). The run API has other codes and statuses than the providers' addresses. */
	promptBlocked: gateway(2016, 424, "Prompt blocked due to security configurations"),
	responseBlocked: gateway(2017, 424, "Response blocked due to security configurations"),
	runPromptBlocked: gateway(2017, 422, "Prompt blocked due to security configurations"),
	runResponseBlocked: gateway(2017, 422, "Response blocked due to security configurations"),
	/** Data-loss prevention (`src/gateways/dlp`). */
	requestLeak: gateway(2029, 400, "Request content blocked due to DLP policy violations"),
	responseLeak: gateway(2030, 400, "Response content blocked due to DLP policy violations"),
	guardrailsUnavailable: gateway(7013, 503, "Guardrails are unavailable"),
	/** The gateway's credential is missing or invalid. */
	gatewayUnauthorized: gateway(2009, 401, "Unauthorized"),
	/** The account has stored no key for the provider, or none with the alias. */
	noStoredKey: gateway(2040, 400, "No provider key is stored"),
	/** A provider cannot be reached. */
	providerUnreachable: afterCall(gateway(2005, 400, "Failed to get response from provider")),
	/** A provider refuses the key that the operator has set. */
	providerKeyRefused: afterCall(gateway(2009, 401, "Unauthorized")),
	/** The operator has set no key for the author of an `author/model`. Ganglion sells no credits. */
	missingProviderKey: gateway(2021, 402, "Insufficient AI Gateway credits"),
	/** The first byte of an attempt is late (`cf-aig-request-timeout`). The product's code is unknown; this one is no code of the product. */
	attemptTimeout: afterCall(gateway(9504, 504, "The provider did not answer in time")),
	unknownThirdPartyModel: gateway(7003, 404, "Model not found"),
	/** Inputs that a provider's model does not take on its native route. The description names the field. */
	userInputError: gateway(7003, 400, "Model execution failed (User Input Error)"),
} as const satisfies Record<string, Failure>;

export type FailureKey = keyof typeof FAILURES;

/** The default description of the first failure with this code. */
export const descriptionOfCode = (code: number): string | undefined =>
	Object.values(FAILURES).find((failure) => failure.code === code)?.description;
