/**
 * Failures in the form of OpenAI's API: `error: {message, type, param, code}`. OpenAI's SDKs and most agents read nothing
 * else of a failed reply.
 */
import type { AiError, FailureKey } from "../core/errors.ts";
import { failureMessage } from "./failure-message.ts";

/** Codes that clients react to. */
const CODES: Partial<Record<FailureKey, string>> = {
	authentication: "invalid_api_key",
	contextWindowExceeded: "context_length_exceeded",
	noSuchModel: "model_not_found",
	unknownThirdPartyModel: "model_not_found",
	deprecatedModel: "model_not_found",
	outOfCapacity: "rate_limit_exceeded",
	rateLimited: "rate_limit_exceeded",
	budgetReserved: "rate_limit_exceeded",
	// Agents do not retry these.
	accountLimited: "insufficient_quota",
	budgetExceeded: "insufficient_quota",
	freeAllocationUsed: "insufficient_quota",
	missingProviderKey: "insufficient_quota",
	responseStoreFull: "insufficient_quota",
	previousResponseNotFound: "previous_response_not_found",
};

export const openAiCode = ({ key }: AiError): string | null => CODES[key] ?? null;

export function openAiError(error: AiError, requestId: string) {
	const isInference = error.failure.plane === "inference";
	return {
		message: isInference ? failureMessage(error, requestId) : error.description,
		type: typeOf(error),
		param: paramOf(error),
		code: openAiCode(error),
	};
}

function typeOf(error: AiError): string {
	const { status } = error;
	if (openAiCode(error) === "insufficient_quota") return "insufficient_quota";
	if (status === 401) return "authentication_error";
	if (status === 403) return "permission_error";
	if (status === 429) return "rate_limit_error";
	return status === 408 || status >= 500 ? "server_error" : "invalid_request_error";
}

/** In a 5006 message: a JSON pointer in quotation marks, and the first of the missing properties. */
const POINTER = /'\/([^']*)'(?: are '(\w+)')?/;
/** The field at the start of an 8001 or 1001 message. */
const FIRST_FIELD = /^(?:Invalid input: )?([a-z_][\w.[\]]*): /;
/** In the place of a field: a mistake of no field has the part of the request. */
const PARTS: readonly unknown[] = ["body", "query"];
const NAMED_FIRST: readonly FailureKey[] = ["invalidInput", "invalidRequest"];

/** The field that failures of these kinds are about. */
const FIELDS: Partial<Record<FailureKey, string>> = {
	noSuchModel: "model",
	deprecatedModel: "model",
	previousResponseNotFound: "previous_response_id",
	itemNotFound: "input",
	noSuchFile: "id",
	noSuchBatch: "id",
};

/** The invalid field, if the failure concerns one field. */
function paramOf({ key, description, field = FIELDS[key] }: AiError): string | null {
	if (field !== undefined) return field;
	if (NAMED_FIRST.includes(key)) {
		const [, first = null] = FIRST_FIELD.exec(description) ?? [];
		return PARTS.includes(first) ? null : first;
	}
	const [, pointer = "", missing = ""] = (key === "badInput" && POINTER.exec(description)) || [];
	const names = [...pointer.split("/"), missing].filter(Boolean);
	if (names.length === 0) return null;
	return names
		.map((name, index) => (/^\d+$/.test(name) ? `[${name}]` : index === 0 ? name : `.${name}`))
		.join("");
}
