/** Failures in the form of Google's APIs: https://cloud.google.com/apis/design/errors. */
import type { AiError } from "../../core/errors.ts";
import { clientStatus } from "../client-failure.ts";

const NAMES: Readonly<Record<number, string>> = {
	400: "INVALID_ARGUMENT",
	401: "UNAUTHENTICATED",
	402: "FAILED_PRECONDITION",
	403: "PERMISSION_DENIED",
	404: "NOT_FOUND",
	405: "UNIMPLEMENTED",
	408: "DEADLINE_EXCEEDED",
	413: "INVALID_ARGUMENT",
	429: "RESOURCE_EXHAUSTED",
	502: "UNAVAILABLE",
};

export function geminiError(failure: AiError): object {
	const code = clientStatus(failure);
	const { description, key, retryAfter } = failure;
	return {
		error: {
			code,
			// Google's own message, which clients search for.
			message:
				key === "contextWindowExceeded"
					? `The input token count exceeds the maximum number of tokens allowed: ${description}`
					: description,
			status: NAMES[code] ?? "INTERNAL",
			...(retryAfter !== undefined && {
				details: [
					{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${Math.ceil(retryAfter)}s` },
				],
			}),
		},
	};
}
