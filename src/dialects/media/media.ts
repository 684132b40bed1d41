/// <reference lib="esnext.typedarrays" />
/**
 * Sound and images as callers send them: arrays of bytes, base64, data URIs, bodies, forms. The schemas below only
 * look, so an array of millions of numbers costs one loop and no copy; `read` decodes what it needs.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { undecodableImage } from "../../core/undecodable-image.ts";
import { hasTooManySegments } from "../../media/image-size.ts";
import type { Media } from "../../media/media.ts";
import { maySound, mediaTypeOf } from "../../media/types.ts";

export type Bytes = Media["bytes"];

/** A body that is not JSON, as the binding hands it over: `{body: <stream>, contentType}`, the stream read. */
interface WrappedBody {
	body: Bytes;
	contentType: string;
}

export type SentBytes = number[] | Bytes | WrappedBody;

const LARGEST_BYTE = 255;

/** A file as an array of its bytes, which is what JSON callers send; or its bytes, when it came as the body. */
export const ByteArray = z
	.custom<SentBytes>()
	.check((context) => {
		const { value } = context;
		if (value instanceof Uint8Array || isWrapped(value)) return;
		if (!Array.isArray(value)) {
			context.issues.push({ code: "invalid_type", expected: "array", input: value });
			return;
		}
		// The first offender only: a list of them all would be as long as the file.
		const at = firstNotByte(value);
		if (at === -1) return;
		const input: unknown = value[at];
		if (!Number.isInteger(input))
			context.issues.push({ code: "invalid_type", expected: "int", input, path: [at] });
		else if (Number(input) < 0)
			context.issues.push({
				code: "too_small",
				origin: "number",
				minimum: 0,
				inclusive: true,
				input,
				path: [at],
			});
		else
			context.issues.push({
				code: "too_big",
				origin: "number",
				maximum: LARGEST_BYTE,
				inclusive: true,
				input,
				path: [at],
			});
	})
	.meta({ type: "array", items: { type: "integer", minimum: 0, maximum: LARGEST_BYTE } });

function firstNotByte(values: unknown[]): number {
	for (let i = 0; i < values.length; i++) {
		const value = values[i];
		if (typeof value !== "number" || !(value >= 0 && value <= LARGEST_BYTE) || !Number.isInteger(value))
			return i;
	}
	return -1;
}

/**
 * A file as `{body, contentType}`. JSON cannot hold such a body, and what is in its place does not count: observed,
 * the product then misses both properties, the `contentType` that is there included.
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
	.meta({
		type: "object",
		properties: { body: { type: "object" }, contentType: { type: "string" } },
		required: ["body", "contentType"],
	});

function isWrapped(value: unknown): value is WrappedBody {
	if (typeof value !== "object" || value === null) return false;
	const { body, contentType } = value as Partial<WrappedBody>;
	return body instanceof Uint8Array && typeof contentType === "string";
}

/** What clients say of a body when nobody told them what it is. */
const UNSAID = /^(?:$|application\/octet-stream|application\/x-www-form-urlencoded|binary\/)/i;

/** The file, with the sender's word on its type unless that says nothing. Does not copy bytes that came as bytes. */
export function toMedia(sent: SentBytes): Media {
	const { body, contentType } = isWrapped(sent)
		? sent
		: { body: sent instanceof Uint8Array ? sent : new Uint8Array(sent), contentType: "" };
	const type = UNSAID.test(contentType) ? mediaTypeOf(body) : contentType;
	return { bytes: body, ...(type !== undefined && { contentType: type }) };
}

/** Any sound at all; headerless samples pass. Throws 8001. */
export function soundOf(sent: SentBytes): Media {
	const media = toMedia(sent);
	if (media.bytes.length === 0) throw new AiError("invalidInput", "Invalid input: the audio is empty");
	return media;
}

/** Sound in a file format. Throws 8001, as the product does (observed). */
export function soundFileOf(sent: SentBytes): Media {
	const media = soundOf(sent);
	if (!maySound(media.bytes)) throw new AiError("invalidInput");
	return media;
}

/** An image that a decoder would know. `name` is what the refusal calls it: `image[0]`, `mask`. Throws 3030. */
export function imageOf(sent: SentBytes, name = "image[0]"): Media {
	const { bytes } = toMedia(sent);
	// Not the sender's word: engines are told this type, and refuse an image that is another.
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

export const encodeBase64 = (bytes: Uint8Array): string => bytes.toBase64();

/** Of what comes before a data URI's comma: a media type, a parameter or two, `base64`. */
const MAX_DATA_URI_HEAD_CHARACTERS = 200;

/**
 * `data:image/png;base64,…`, or `undefined` for any other text. Parameters of the type are left out. Throws 5004 when
 * its base64 does not decode.
 */
export function decodeDataUri(text: string): WrappedBody | undefined {
	const start = text.slice(0, MAX_DATA_URI_HEAD_CHARACTERS);
	const comma = start.indexOf(",");
	if (comma === -1 || !/^data:/i.test(start)) return undefined;
	const [type = "", ...parameters] = start.slice("data:".length, comma).toLowerCase().split(";");
	if (parameters.at(-1)?.trim() !== "base64") return undefined;
	return { body: decodeBase64(text.slice(comma + 1)), contentType: type.trim() };
}

/** Bytes as a string with one character each, which JSON callers of the image models may send. */
export function decodeBinaryString(text: string): Bytes | undefined {
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		if (code > LARGEST_BYTE) return undefined;
		bytes[i] = code;
	}
	return bytes;
}

export { formText, parseMultipart } from "./multipart.ts";
