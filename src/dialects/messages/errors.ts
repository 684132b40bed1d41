/** Failures as Anthropic names them: https://docs.anthropic.com/en/api/errors. The status stays the gateway's. */
import type { AiError } from "../../errors.ts";

export interface MessagesError {
	type: "error";
	error: { type: string; message: string };
	request_id: string;
}

export const messagesError = (failure: AiError, requestId: string): MessagesError => ({
	type: "error",
	error: { type: errorType(failure), message: failure.description },
	request_id: requestId,
});

function errorType({ key, status }: AiError): string {
	// Like 429 it may be tried again, but it is not the caller who asked too often.
	if (key === "outOfCapacity") return "overloaded_error";
	switch (status) {
		case 401:
			return "authentication_error";
		case 402:
			return "billing_error";
		case 403:
			return "permission_error";
		case 404:
		case 410:
			return "not_found_error";
		case 408:
			return "timeout_error";
		case 413:
			return "request_too_large";
		case 429:
			return "rate_limit_error";
		default:
			return status >= 500 ? "api_error" : "invalid_request_error";
	}
}
