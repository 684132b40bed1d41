/**
 * Predictions: `POST /predictions`, their cancellation, and their outputs: texts, complete or in pieces, and files, as data
 * URLs or at the container's address.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import type { Usage } from "../../core/usage.ts";
import { plainUsage } from "../../core/usage-formats.ts";
import { decodeBase64, splitDataUrl } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { getBytes, postJson } from "../transport/http.ts";
import {
	type Call,
	callerMessage,
	failureOfContent,
	failureOfShape,
	type Refusal,
} from "../transport/upstream-failure.ts";

const PATH = "/predictions";
const CONFLICT = 409;

export const Prediction = z.looseObject({
	status: z.string(),
	output: z.unknown().optional(),
	error: z.string().nullish(),
	metrics: z.record(z.string(), z.unknown()).nullish(),
});
export type Prediction = z.output<typeof Prediction>;

/** Runs one prediction to its end. */
export async function predict(call: Call, input: Readonly<Record<string, unknown>>): Promise<Prediction> {
	const { call: cancellable, id } = withCancel(call);
	return succeeded(await postJson(cancellable, PATH, { id, input }, Prediction), call);
}

/** Throws unless the prediction has succeeded. */
export function succeeded(prediction: Prediction, call: Call): Prediction {
	const { status, error } = prediction;
	if (status === "succeeded") return prediction;
	if (status !== "failed" && status !== "canceled")
		throw failureOfShape(call, "a finished prediction", prediction);
	if (error && REFUSED.test(error))
		throw new AiError("refusedByModel", callerMessage(call.target, error), {
			upstream: { backend: call.target.backend },
		});
	// An exception in the model, most often about its input.
	throw failureOfContent(call, `ended its prediction as ${status}`);
}

/** Matches errors of safety checks. */
const REFUSED = /\bnsfw\b|safety|flagged|sensitive content/i;

/**
 * The call of one prediction. An abort of its fetch (by the caller, a reader, a time limit) cancels the prediction, which
 * may otherwise continue without its connection.
 */
export function withCancel(call: Call): { call: Call; id: string; path: string } {
	const id = call.services.uuid();
	const { fetch } = call.services;
	const cancel = () => {
		const uncancellable = { ...call, signal: new AbortController().signal };
		const cancelled = postJson(uncancellable, `${PATH}/${id}/cancel`, {}, z.unknown());
		// The request may end before the container has received the cancellation.
		call.services.waitUntil(cancelled.catch(() => {}));
	};
	const cancelling: typeof fetch = (input, init) => {
		init?.signal?.addEventListener("abort", cancel);
		return fetch(input, init);
	};
	return { call: { ...call, services: { ...call.services, fetch: cancelling } }, id, path: PATH };
}

/** 409: all slots of the container are in use. */
export function failureOfCog({ target }: Call, { status }: Refusal): AiError | undefined {
	if (status !== CONFLICT) return undefined;
	const { backend } = target;
	return new AiError("outOfCapacity", undefined, { upstream: { backend, status }, retryable: true });
}

/** A text, or its pieces. */
export function textOf(output: unknown, call: Call): string {
	if (typeof output === "string") return output;
	if (Array.isArray(output) && output.every((piece) => typeof piece === "string")) return output.join("");
	throw failureOfShape(call, "a text", output);
}

/** The first file. A file at another origin is not fetched: the model chooses the address. */
export async function fileOf(output: unknown, call: Call): Promise<Media> {
	const url = urlsIn(output)[0];
	if (url === undefined) throw failureOfShape(call, "a file", output);
	const embedded = splitDataUrl(url);
	if (embedded) {
		const bytes = decodeBase64(embedded.base64);
		if (!bytes?.length) throw failureOfShape(call, "a file", url);
		return { bytes, ...(embedded.contentType && { contentType: embedded.contentType }) };
	}
	const { origin, pathname, search } = new URL(url);
	if (origin !== new URL(call.target.url).origin) throw failureOfShape(call, "a file of its own", url);
	return getBytes({ ...call, target: { ...call.target, url: origin } }, pathname + search);
}

function urlsIn(output: unknown): string[] {
	if (typeof output === "string") return FILE_PROTOCOLS.has(URL.parse(output)?.protocol) ? [output] : [];
	if (typeof output !== "object" || output === null) return [];
	return Object.values(output).flatMap(urlsIn);
}

const FILE_PROTOCOLS = new Set<string | undefined>(["data:", "http:", "https:"]);

export const usageIn = ({ metrics }: Prediction): Usage | undefined =>
	metrics ? plainUsage(metrics) : undefined;
