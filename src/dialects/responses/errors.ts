/**
 * Failures as OpenAI's Responses API names them: the `error` of a response that failed, and of the reply to a request
 * that never became one, `{"error":{"code":"invalid_prompt","message":"AiError: …"}}`.
 */
import * as z from "zod";
import type { AiError } from "../../errors.ts";
import { failureMessage } from "../failure-message.ts";

export const ResponsesError = z.object({
	code: z.enum(["server_error", "rate_limit_exceeded", "invalid_prompt"]),
	message: z.string(),
});
export type ResponsesError = z.output<typeof ResponsesError>;

/** `invalid_prompt` is for the caller to mend, `rate_limit_exceeded` passes, `server_error` is the operator's. */
export function responsesError(error: AiError, requestId: string): ResponsesError {
	const { status } = error;
	const message = failureMessage(error, requestId);
	if (status === 429) return { code: "rate_limit_exceeded", message };
	if (status === 408 || status >= 500) return { code: "server_error", message };
	return { code: "invalid_prompt", message };
}
