/**
 * Responses whose body is complete when they are made. To observe such a body through a stream costs more than the rest of its response, so
 * the observers take it from here.
 */
import { Buffer } from "node:buffer";
import { decodeUtf8 } from "../media/utf8.ts";

interface CompleteBody {
	text(): string;
	/** In bytes. */
	size(): number;
	bytes(): Uint8Array<ArrayBuffer>;
}

const bodies = new WeakMap<Response, CompleteBody>();

/** `text`: decodes the bytes, if the caller keeps the result. */
export function completeResponse(
	body: string | Uint8Array<ArrayBuffer>,
	init: ResponseInit,
	text = (): string => (typeof body === "string" ? body : decodeUtf8(body)),
): Response {
	const response = new Response(body, init);
	const bytes = (): Uint8Array<ArrayBuffer> =>
		typeof body === "string" ? new Uint8Array(new TextEncoder().encode(body)) : body;
	const size = (): number => (typeof body === "string" ? Buffer.byteLength(body) : body.length);
	bodies.set(response, { text, size, bytes });
	return response;
}

/** `undefined`: the body is a stream, or its response was made elsewhere. */
export const completeBodyOf = (response: Response): CompleteBody | undefined => bodies.get(response);
