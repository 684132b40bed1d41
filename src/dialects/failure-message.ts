/**
 * A failure in the words of the REST API, wherever it is told: in an envelope, in OpenAI's shapes, in a stream.
 * Observed of the product: the request's id ends the message, but not a 5006's.
 */
import type { AiError } from "../core/errors.ts";

export function failureMessage({ description, failure, key }: AiError, requestId: string): string {
	const id = key === "badInput" ? "" : ` (${requestId})`;
	return `AiError: ${failure.name}: ${description}${id}`;
}
