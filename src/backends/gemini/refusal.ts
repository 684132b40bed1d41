/** What Google says of a refusal in its `details` (https://cloud.google.com/apis/design/errors) and nowhere else. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Target } from "../backend.ts";
import type { Refusal } from "../transport/upstream-failure.ts";

const Refused = z.object({
	error: z.object({
		code: z.number().nullish(),
		details: z.array(
			z.object({
				/** Of an `ErrorInfo`. */
				reason: z.string().nullish(),
				/** Of a `RetryInfo`: `34.07s`. */
				retryDelay: z.string().nullish(),
			}),
		),
	}),
});

/** Nobody is asked to wait for longer. */
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

export function refusalOf(
	{ backend }: Target,
	{ status: sent, body, retryAfter }: Refusal,
): AiError | undefined {
	const told = Refused.safeParse(body).data?.error;
	if (!told) return undefined;
	const status = sent ?? told.code ?? 500;
	const upstream = { backend, status };
	// It comes with 400, as if it were the caller's mistake.
	if (told.details.some(({ reason }) => reason === "API_KEY_INVALID"))
		return new AiError("upstreamUnavailable", `The backend '${backend}' refused the gateway's credentials`, {
			upstream,
		});
	const delay = told.details.find(({ retryDelay }) => retryDelay)?.retryDelay;
	const seconds = /^(\d+(?:\.\d+)?)s$/.exec(delay ?? "")?.[1];
	if (status !== 429 || seconds === undefined) return undefined;
	const wait = Math.min(Math.ceil(Number(seconds)), MAX_RETRY_AFTER_SECONDS);
	return new AiError("outOfCapacity", undefined, { upstream, retryAfter: retryAfter ?? wait });
}
