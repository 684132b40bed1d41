/**
 * The REST API's message of a failure, for envelopes, OpenAI's errors and streams. Observed in the product: the message
 * ends with the request's id, except for code 5006.
 */
import type { AiError } from "../core/errors.ts";

export function failureMessage({ description, failure, key }: AiError, requestId: string): string {
	const id = key === "badInput" ? "" : ` (${requestId})`;
	return `AiError: ${failure.name}: ${description}${id}`;
}
