/** The address of a method, and Google's header for the key. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Target } from "../backend.ts";
import type { Call, Refusal } from "../transport/upstream-failure.ts";

const KEY_HEADER = "x-goog-api-key";
const DEFAULT_VERSION = "/v1beta";
const NAMES_VERSION = /\/v\d+(?:alpha|beta)?\d*$/;

/** The path of a method. The name of the model is encoded as one segment. */
export function pathOf({ target }: Call, method: string): string {
	const version = NAMES_VERSION.test(target.url) ? "" : DEFAULT_VERSION;
	return `${version}/${resourceOf(target.model, encodeURIComponent)}:${method}`;
}

/** The name of a model in bodies: `models/gemini-2.5-flash`. */
export const resourceOf = (model: string, write: (name: string) => string = String): string =>
	`models/${write(model.replace(/^models\//, ""))}`;

/** Moves the key to Google's header. It stays a secret: header values are removed from messages, too. */
export function googleCall(call: Call): Call {
	const { key, ...target } = call.target;
	const headers = key === undefined ? target.headers : { ...target.headers, [KEY_HEADER]: key };
	return {
		...call,
		target: { ...target, headers },
		refusal: (refusal) => refusalOf(target, refusal),
	};
}

/** Reads the `details` of Google's errors (https://cloud.google.com/apis/design/errors). */

const Refused = z.object({
	error: z.object({
		code: z.number().nullish(),
		message: z.string().nullish(),
		details: z
			.array(
				z.object({
					/** A field of `ErrorInfo`. */
					reason: z.string().nullish(),
					/** A field of `RetryInfo`, for example `34.07s`. */
					retryDelay: z.string().nullish(),
				}),
			)
			.nullish(),
	}),
});

/** Google sends status 400 (`FAILED_PRECONDITION`) if it does not serve the country of the gateway. */
const LOCATION_MESSAGE = /location is not supported|not available in your country/i;

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
	if (LOCATION_MESSAGE.test(error.message ?? ""))
		return new AiError(
			"upstreamUnavailable",
			`The backend '${backend}' does not serve the gateway's location`,
			{
				upstream,
			},
		);
	const details = error.details ?? [];
	// Google sends status 400 for an invalid key.
	if (details.some(({ reason }) => reason === "API_KEY_INVALID"))
		return new AiError("upstreamUnavailable", `The backend '${backend}' refused the gateway's credentials`, {
			upstream,
		});
	const delay = details.find(({ retryDelay }) => retryDelay)?.retryDelay;
	const seconds = delay?.match(/^(\d+(?:\.\d+)?)s$/)?.[1];
	if (status !== 429 || seconds === undefined) return undefined;
	const wait = Math.min(Math.ceil(Number(seconds)), MAX_RETRY_AFTER_SECONDS);
	return new AiError("outOfCapacity", undefined, { upstream, retryAfter: retryAfter ?? wait });
}
