/** Decompresses a request's body up to a limit. */
import { gunzipSync, inflateSync } from "node:zlib";
import { AiError } from "../core/errors.ts";
import { badInput } from "../dialects/invalid-input.ts";

/** `undefined`: the body is not compressed. Throws 5006 for another encoding. */
export function encodingOf({ headers }: Request): "gzip" | "deflate" | undefined {
	const encoding = headers.get("content-encoding")?.trim().toLowerCase() || "identity";
	if (encoding === "identity") return undefined;
	if (encoding === "gzip" || encoding === "deflate") return encoding;
	throw badInput("the content encoding is not supported: use gzip or deflate");
}

/**
 * Stops at the limit. The runtime's `DecompressionStream` does not: it decompresses everything that it has received, and half a
 * megabyte can become 500 MB.
 */
export function decompress(
	bytes: Uint8Array,
	encoding: "gzip" | "deflate",
	limit: number,
): Uint8Array<ArrayBuffer> {
	const inflate = encoding === "gzip" ? gunzipSync : inflateSync;
	try {
		return new Uint8Array(inflate(bytes, { maxOutputLength: limit }));
	} catch (error) {
		throw error instanceof RangeError ? tooLarge(limit) : undecodable();
	}
}

export const undecodable = (): AiError => badInput("the request body cannot be decoded");

export const tooLarge = (limit: number): AiError =>
	new AiError("requestTooLarge", `Request is too large: more than ${limit} bytes`);
