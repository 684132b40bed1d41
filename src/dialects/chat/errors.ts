/** The error event at the end of a chat stream. The product documents none; OpenAI's clients know the form below. */
import type { AiError } from "../../core/errors.ts";
import { frame } from "../../streams/sse.ts";
import { openAiCode } from "../openai-error.ts";

/** OpenAI's name of the error. */
function errorType({ status }: AiError): string {
	if (status === 429) return "rate_limit_exceeded";
	return status >= 500 || status === 408 ? "server_error" : "invalid_request_error";
}

/** The last event of a stream that failed, without `[DONE]` after it. The message is that of the REST API. */
export const errorFrame = (error: AiError): string =>
	frame({
		error: {
			message: `AiError: ${error.failure.name}: ${error.description}`,
			type: errorType(error),
			// Agents compact the conversation if they read this code.
			code: error.key === "contextWindowExceeded" ? openAiCode(error) : error.code,
		},
	});
