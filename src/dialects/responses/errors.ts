/**
 * Failures in the form of OpenAI's Responses API: the `error` of a failed response, and the reply to a refused request,
 * `{"error":{"code":"invalid_prompt","message":"AiError: …"}}`.
 */
import * as z from "zod";
import type { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { failureMessage } from "../failure-message.ts";
import { openAiCode } from "../openai-error.ts";

const Code = lazy(() =>
	z.enum([
		"server_error",
		"rate_limit_exceeded",
		"insufficient_quota",
		"context_length_exceeded",
		"invalid_prompt",
	]),
);

export const ResponsesError = lazy(() => z.object({ code: Code(), message: z.string() }));
export type ResponsesError = z.output<ReturnType<typeof ResponsesError>>;

/**
 * `invalid_prompt`: the caller must change the request. `rate_limit_exceeded`: the caller can retry later. `server_error`:
 * the operator must act. Codex does not retry after `context_length_exceeded` and `insufficient_quota`.
 */
export function responsesError(error: AiError, requestId: string): ResponsesError {
	const { status } = error;
	const message = failureMessage(error, requestId);
	const code = Code().safeParse(openAiCode(error)).data;
	if (code) return { code, message };
	if (status === 429) return { code: "rate_limit_exceeded", message };
	if (status === 408 || status >= 500) return { code: "server_error", message };
	return { code: "invalid_prompt", message };
}

/** The status of the reply to a refused request. As in OpenAI's API, it is 400 if the input is too long. */
export const responsesStatus = (error: AiError): number =>
	error.key === "contextWindowExceeded" ? 400 : error.status;
