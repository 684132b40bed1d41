/**
 * Reads the width and height of an image from its header, at a bounded cost. The library follows every segment or box,
 * which takes seconds for a hostile file; so JPEG is read here, and most other formats reach the library as a prefix.
 */
import { imageSize } from "image-size";
import { mediaTypeOf } from "./types.ts";

/** A photograph has about ten segments before its size; a large colour profile adds a few hundred. */
const MAX_JPEG_SEGMENTS = 1_000;
/** Other formats store the size first. A TIFF may store it at the end of the file; its table of fields is bounded. */
const HEAD_BYTES = 64 * 1024;

const MARKER = 0xff;
const START_OF_IMAGE_BYTES = 2;
/** ITU-T T.81, table B.1: frame markers are C0 to CF, except C4 and CC (code tables) and C8 (reserved). */
const NO_FRAME = new Set([0xc4, 0xc8, 0xcc]);
const START_OF_SCAN = 0xda;
const END_OF_IMAGE = 0xd9;

export interface PixelSize {
	width: number;
	height: number;
}

/** `undefined` if the header cannot be read. */
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

/** Whether the file has more segments than any photograph: a decoder would have to follow all of them. */
export const hasTooManySegments = (bytes: Uint8Array): boolean => findJpegSize(bytes) === "too many segments";

function findJpegSize(bytes: Uint8Array): PixelSize | "too many segments" | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let at = START_OF_IMAGE_BYTES;
	for (let segments = 0; at + 9 <= bytes.length; segments++) {
		if (segments > MAX_JPEG_SEGMENTS) return "too many segments";
		if (bytes[at] !== MARKER) return undefined;
		const marker = bytes[at + 1] ?? 0;
		// Any number of FF bytes may precede a marker.
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
