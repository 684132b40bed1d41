/** Quantities of input images. Sizes are read from headers; nothing is decoded. */
import { decodeBase64, splitDataUrl } from "../media/base64.ts";
import { imageSizeOf } from "../media/image-size.ts";
import type { Media } from "../media/media.ts";
import type { Quantities, Size } from "../models/neurons.ts";

/** The size of an image whose header cannot be read. */
const DEFAULT_SIZE: Size = { width: 1024, height: 1024 };

export const inputImage = (image: Media): Quantities => ({ inputImages: [sizeOrDefault(image)] });

/** The size in the header, otherwise a default. */
export const sizeOrDefault = ({ bytes }: Media): Size => imageSizeOf(bytes) ?? DEFAULT_SIZE;

/** Most formats store the size in the first bytes. A photograph stores camera metadata and a colour profile before it. */
const HEAD_BYTES = 48 * 1024;
const BASE64_OF_THREE_BYTES = 4;
const HEAD_CHARACTERS = (HEAD_BYTES / 3) * BASE64_OF_THREE_BYTES;

/** The size of the image in a data URL. `undefined` for any other URL. */
export function sizeOfUrl(url: string): Size | undefined {
	const base64 = splitDataUrl(url.slice(0, HEAD_CHARACTERS))?.base64;
	const bytes = base64 === undefined ? undefined : beginningOf(base64);
	return bytes && imageSizeOf(bytes);
}

/** The first bytes of a file. `undefined` if they are not base64, or if white space is between them. */
export function beginningOf(base64: string): Uint8Array | undefined {
	const characters = Math.min(base64.length, HEAD_CHARACTERS);
	return decodeBase64(base64.slice(0, characters - (characters % BASE64_OF_THREE_BYTES)));
}

/** Decoded length of a data URL or of bare base64; 0 for an `http` URL. */
export function bytesOfBase64(text: string): number {
	if (/^https?:/i.test(text)) return 0;
	const start = text.startsWith("data:") ? text.indexOf(",") + 1 : 0;
	const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
	return Math.floor(((text.length - start) * 3) / BASE64_OF_THREE_BYTES) - padding;
}
