/** Outputs of predictions: texts, complete or in pieces, and files, as data URLs or at the container's address. */

import type { Usage } from "../../core/usage.ts";
import { decodeBase64, splitDataUrl } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import { usageOfCounts } from "../completion.ts";
import { getBytes } from "../transport/http.ts";
import { type Call, failureOfShape } from "../transport/upstream-failure.ts";
import type { Prediction } from "./predictions.ts";

/** A text, or its pieces. */
export function textOf(output: unknown, call: Call): string {
	if (typeof output === "string") return output;
	if (Array.isArray(output) && output.every((piece) => typeof piece === "string")) return output.join("");
	throw failureOfShape(call, "a text");
}

/** The first file. A file at another origin is not fetched: the model chooses the address. */
export async function fileOf(output: unknown, call: Call): Promise<Media> {
	const url = urlsIn(output)[0];
	if (url === undefined) throw failureOfShape(call, "a file");
	const embedded = splitDataUrl(url);
	if (embedded) {
		const bytes = decodeBase64(embedded.base64);
		if (!bytes?.length) throw failureOfShape(call, "a file");
		return { bytes, ...(embedded.contentType && { contentType: embedded.contentType }) };
	}
	const { origin, pathname, search } = new URL(url);
	if (origin !== new URL(call.target.url).origin) throw failureOfShape(call, "a file of its own");
	return getBytes({ ...call, target: { ...call.target, url: origin } }, pathname + search);
}

function urlsIn(output: unknown): string[] {
	if (typeof output === "string")
		return /^data:/i.test(output) || /^https?:$/.test(protocolOf(output)) ? [output] : [];
	if (typeof output !== "object" || output === null) return [];
	return Object.values(output).flatMap(urlsIn);
}

const protocolOf = (text: string): string => URL.parse(text)?.protocol ?? "";

/** The metrics of Replicate's language models. */
const COUNTS = {
	prompt: ["input_token_count", "token_input_count"],
	completion: ["output_token_count", "token_output_count"],
};

export function usageIn({ metrics }: Prediction): Usage | undefined {
	const count = (names: string[]): number | undefined =>
		names.map((name) => metrics?.[name]).find((value) => typeof value === "number");
	return usageOfCounts(count(COUNTS.prompt), count(COUNTS.completion));
}
