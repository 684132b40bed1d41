/**
 * Width and height of an image, by its header. The cost is bounded whatever the file holds: a library that follows every
 * segment or box of a hostile file needs seconds for it.
 */
import { imageSize } from "image-size";
import { mediaTypeOf } from "./types.ts";

/** A photograph has about ten segments before its size; a large colour profile has some hundreds. */
const MAX_JPEG_SEGMENTS = 1_000;
/** Other formats have their size first. A TIFF may have it at its end, and has a bounded table of fields. */
const HEAD_BYTES = 64 * 1024;

const MARKER = 0xff;
const START_OF_IMAGE_BYTES = 2;
/** ITU-T T.81, table B.1: frames are C0 to CF, but for tables of codes (C4, CC) and a reserved one (C8). */
const NO_FRAME = new Set([0xc4, 0xc8, 0xcc]);
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;

export interface PixelSize {
	width: number;
	height: number;
}

/** `undefined` where the header cannot be read. */
export function imageSizeOf(bytes: Uint8Array): PixelSize | undefined {
	const type = mediaTypeOf(bytes);
	if (type === "image/jpeg") {
		const found = findJpegSize(bytes);
		return found === "too many segments" ? undefined : found;
	}
	try {
		const { width, height } = imageSize(type === "image/tiff" ? bytes : bytes.subarray(0, HEAD_BYTES));
		return width > 0 && height > 0 ? { width, height } : undefined;
	} catch {
		return undefined;
	}
}

/** Whether a decoder would have to follow more segments than any photograph has. */
export const hasTooManySegments = (bytes: Uint8Array): boolean => findJpegSize(bytes) === "too many segments";

function findJpegSize(bytes: Uint8Array): PixelSize | "too many segments" | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let at = START_OF_IMAGE_BYTES;
	for (let segments = 0; at + 9 <= bytes.length; segments++) {
		if (segments > MAX_JPEG_SEGMENTS) return "too many segments";
		if (bytes[at] !== MARKER) return undefined;
		const marker = bytes[at + 1] ?? 0;
		// A marker may have any number of these bytes before it.
		if (marker === MARKER) {
			at++;
			continue;
		}
		if (marker === START_OF_SCAN || marker === END_OF_IMAGE) return undefined;
		if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAME.has(marker)) {
			const size = { width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
			return size.width > 0 && size.height > 0 ? size : undefined;
		}
		at += 2 + view.getUint16(at + 2);
	}
	return undefined;
}
