/** `Buffer` where it is the runtime's own code: files of megabytes, against a call for each byte. */
import { Buffer } from "node:buffer";
import type { Media } from "../../tasks/media.ts";
import { typeOf } from "./media-types.ts";

/** What is not base64 in `text` is passed over; the caller looks at what came out. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
	return new Uint8Array(Buffer.from(text, "base64"));
}

export function dataUrl(media: Media, otherwise: string): string {
	const contentType = typeOf(media)?.contentType ?? media.contentType ?? otherwise;
	const { buffer, byteOffset, byteLength } = media.bytes;
	return `data:${contentType};base64,${Buffer.from(buffer, byteOffset, byteLength).toString("base64")}`;
}
