/**
 * How chat dialects say that something is wrong: in the input, where no schema of the product says it, and at the end
 * of a stream, where the product documents nothing and OpenAI's clients know the form below.
 */
import { AiError } from "../../core/errors.ts";
import { frame } from "../../streams/sse.ts";

/** OpenAI's word for what went wrong. */
function errorType({ status }: AiError): string {
	if (status === 429) return "rate_limit_exceeded";
	return status >= 500 || status === 408 ? "server_error" : "invalid_request_error";
}

/** The last frame of a stream that failed; no `[DONE]` follows it. The message is the one that the REST API writes. */
export const errorFrame = (error: AiError): string =>
	frame({
		error: {
			message: `AiError: ${error.failure.name}: ${error.description}`,
			type: errorType(error),
			code: error.code,
		},
	});

/** What the product's engines refuse after its schemas let it pass: 8001. `sentence` begins with the field. */
export const invalidInput = (sentence: string): AiError =>
	new AiError("invalidInput", `Invalid input: ${sentence}`);
