/**
 * Failures as OpenAI's Responses API names them: the `error` of a response that failed, and of the reply to a request
 * that never became one, `{"error":{"code":"invalid_prompt","message":"AiError: …"}}`.
 */
import * as z from "zod";
import type { AiError } from "../../core/errors.ts";
import { failureMessage } from "../failure-message.ts";
import { openAiCode } from "../openai-error.ts";

const Code = z.enum([
	"server_error",
	"rate_limit_exceeded",
	"insufficient_quota",
	"context_length_exceeded",
	"invalid_prompt",
]);

export const ResponsesError = z.object({ code: Code, message: z.string() });
export type ResponsesError = z.output<typeof ResponsesError>;

/**
 * `invalid_prompt` is for the caller to mend, `rate_limit_exceeded` passes, `server_error` is the operator's. Codex tries
 * nothing again after `context_length_exceeded` and `insufficient_quota`.
 */
export function responsesError(error: AiError, requestId: string): ResponsesError {
	const { status } = error;
	const message = failureMessage(error, requestId);
	const known = Code.safeParse(openAiCode(error)).data;
	if (known) return { code: known, message };
	if (status === 429) return { code: "rate_limit_exceeded", message };
	if (status === 408 || status >= 500) return { code: "server_error", message };
	return { code: "invalid_prompt", message };
}

/** Of the reply to a request that never became a response: as at OpenAI, 400 where the input is too long. */
export const responsesStatus = (error: AiError): number =>
	error.key === "contextWindowExceeded" ? 400 : error.status;
