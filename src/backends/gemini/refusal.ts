/** Reads the `details` of Google's errors (https://cloud.google.com/apis/design/errors). */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Target } from "../backend.ts";
import type { Refusal } from "../transport/upstream-failure.ts";

const Refused = z.object({
	error: z.object({
		code: z.number().nullish(),
		details: z.array(
			z.object({
				/** A field of `ErrorInfo`. */
				reason: z.string().nullish(),
				/** A field of `RetryInfo`, for example `34.07s`. */
				retryDelay: z.string().nullish(),
			}),
		),
	}),
});

/** The longest wait that is sent to the caller. */
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

export function refusalOf(
	{ backend }: Target,
	{ status: replyStatus, body, retryAfter }: Refusal,
): AiError | undefined {
	const error = Refused.safeParse(body).data?.error;
	if (!error) return undefined;
	const status = replyStatus ?? error.code ?? 500;
	const upstream = { backend, status };
	// Google sends status 400 for an invalid key.
	if (error.details.some(({ reason }) => reason === "API_KEY_INVALID"))
		return new AiError("upstreamUnavailable", `The backend '${backend}' refused the gateway's credentials`, {
			upstream,
		});
	const delay = error.details.find(({ retryDelay }) => retryDelay)?.retryDelay;
	const seconds = /^(\d+(?:\.\d+)?)s$/.exec(delay ?? "")?.[1];
	if (status !== 429 || seconds === undefined) return undefined;
	const wait = Math.min(Math.ceil(Number(seconds)), MAX_RETRY_AFTER_SECONDS);
	return new AiError("outOfCapacity", undefined, { upstream, retryAfter: retryAfter ?? wait });
}
