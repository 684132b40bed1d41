/// <reference lib="esnext.typedarrays" />
/**
 * Audio and images in requests: arrays of bytes, base64, data URIs, bodies, forms. The schemas below only check them, so an
 * array of millions of numbers costs one loop and no copy. Readers decode what they need.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { undecodableImage } from "../../core/undecodable-image.ts";
import { hasTooManySegments } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import { mayBeAudio, mediaTypeOf } from "../../media/types.ts";
import { invalidInput } from "../invalid-input.ts";
import { WRAPPED_SCHEMA } from "./multipart.ts";

export type Bytes = Media["bytes"];

/** A body that is not JSON. The binding sends `{body: <stream>, contentType}`; here the stream is already read. */
interface WrappedBody {
	body: Bytes;
	contentType: string;
}

export type SentBytes = number[] | Bytes | WrappedBody;

const MAX_BYTE = 255;

/** A file: an array of its bytes from JSON callers, or its bytes if it is the body. */
export const ByteArray = z
	.custom<SentBytes>()
	.check((context) => {
		const { value } = context;
		if (value instanceof Uint8Array || isWrapped(value)) return;
		if (!Array.isArray(value)) {
			context.issues.push({ code: "invalid_type", expected: "array", input: value });
			return;
		}
		// Only the first invalid byte, because a list of all could be as long as the file.
		const index = firstNotByte(value);
		if (index === -1) return;
		const input: unknown = value[index];
		if (!Number.isInteger(input))
			context.issues.push({ code: "invalid_type", expected: "int", input, path: [index] });
		else {
			const place = { origin: "number" as const, inclusive: true, input, path: [index] };
			if (Number(input) < 0) context.issues.push({ code: "too_small", minimum: 0, ...place });
			else context.issues.push({ code: "too_big", maximum: MAX_BYTE, ...place });
		}
	})
	.meta({ type: "array", items: { type: "integer", minimum: 0, maximum: MAX_BYTE } });

function firstNotByte(values: unknown[]): number {
	for (let i = 0; i < values.length; i++) {
		const value = values[i];
		if (typeof value !== "number" || !(value >= 0 && value <= MAX_BYTE) || !Number.isInteger(value)) return i;
	}
	return -1;
}

/**
 * A file as `{body, contentType}`. JSON cannot contain such a body. Observed: for any other body the product reports both
 * properties as missing, even if `contentType` is present.
 */
export const Wrapped = z
	.custom<WrappedBody>()
	.check((context) => {
		const value: unknown = context.value;
		if (isWrapped(value)) return;
		if (typeof value !== "object" || value === null || Array.isArray(value)) {
			context.issues.push({ code: "invalid_type", expected: "object", input: value });
			return;
		}
		const missing =
			"body" in value && value.body instanceof Uint8Array ? ["contentType"] : ["body", "contentType"];
		for (const property of missing)
			context.issues.push({ code: "invalid_type", expected: "object", input: undefined, path: [property] });
	})
	.meta(WRAPPED_SCHEMA);

function isWrapped(value: unknown): value is WrappedBody {
	if (typeof value !== "object" || value === null) return false;
	const { body, contentType } = value as Partial<WrappedBody>;
	return body instanceof Uint8Array && typeof contentType === "string";
}

/** Default types that clients send if they do not know the type, or none. */
const UNSPECIFIC_TYPE = /^(?:$|application\/octet-stream|application\/x-www-form-urlencoded|binary\/)/i;

/** The file with the sender's type, or the detected type if the sender's is unspecific. Does not copy a `Uint8Array`. */
export function toMedia(sent: SentBytes): Media {
	const { body, contentType } = isWrapped(sent)
		? sent
		: { body: sent instanceof Uint8Array ? sent : new Uint8Array(sent), contentType: "" };
	const type = UNSPECIFIC_TYPE.test(contentType) ? mediaTypeOf(body) : contentType;
	return { bytes: body, ...(type !== undefined && { contentType: type }) };
}

/** Any audio, also samples without a header. Throws 8001 if it is empty. */
export function audioOf(sent: SentBytes): Media {
	const media = toMedia(sent);
	if (media.bytes.length === 0) throw invalidInput("the audio is empty");
	return media;
}

/** Audio in a file format. Throws 8001, as the product does (observed). */
export function audioFileOf(sent: SentBytes): Media {
	const media = audioOf(sent);
	if (!mayBeAudio(media.bytes)) throw new AiError("invalidInput");
	return media;
}

/** An image with a known signature. `name` names it in the error message: `image[0]`, `mask`. Throws 3030. */
export function imageOf(sent: SentBytes, name = "image[0]"): Media {
	const { bytes } = toMedia(sent);
	// The detected type, not the sender's: engines refuse an image whose type is wrong.
	const contentType = mediaTypeOf(bytes);
	if (!contentType?.startsWith("image/") || (contentType === "image/jpeg" && hasTooManySegments(bytes)))
		throw undecodableImage(name);
	return { bytes, contentType };
}

/** Throws 5004. White space and missing padding are allowed, a `data:` prefix is not. */
export function decodeBase64(text: string): Bytes {
	try {
		return Uint8Array.fromBase64(text);
	} catch (cause) {
		throw new AiError("invalidData", "Invalid data type for base64 input: string", { cause });
	}
}

/** Bounds the part before a data URI's comma: a media type, parameters, `base64`. */
const MAX_DATA_URI_HEAD_CHARACTERS = 200;

/**
 * Decodes `data:image/png;base64,…` without the type's parameters. `undefined` for any other text. Throws 5004 for invalid
 * base64.
 */
export function decodeDataUri(text: string): WrappedBody | undefined {
	const start = text.slice(0, MAX_DATA_URI_HEAD_CHARACTERS);
	const comma = start.indexOf(",");
	if (comma === -1 || !/^data:/i.test(start)) return undefined;
	const [type = "", ...parameters] = start.slice("data:".length, comma).toLowerCase().split(";");
	if (parameters.at(-1)?.trim() !== "base64") return undefined;
	return { body: decodeBase64(text.slice(comma + 1)), contentType: type.trim() };
}

/** Decodes a string with one character per byte, which JSON callers of the image models may send. */
export function decodeBinaryString(text: string): Bytes | undefined {
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		if (code > MAX_BYTE) return undefined;
		bytes[i] = code;
	}
	return bytes;
}
