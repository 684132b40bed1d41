/** Format and size of an image, by its header. Nothing is decoded. */
import { BMP } from "image-size/types/bmp";
import { GIF } from "image-size/types/gif";
import { HEIF } from "image-size/types/heif";
import { PNG } from "image-size/types/png";
import { WEBP } from "image-size/types/webp";
import { AiError } from "../../../core/errors.ts";
import { undecodableImage } from "../../../core/undecodable-image.ts";

/** Larger images are refused. */
const MAX_MEGAPIXELS = 50;
/** The size stands near the start in these formats; a search further in is quadratic for a hostile file. */
const HEADER_BYTES = 64 * 1024;
/** SVG is left out: its size is found by regular expressions that a hostile file can stall. */
const READERS = { PNG, GIF, WebP: WEBP, HEIF, BMP } as const;

export interface ImageSize {
	/** `PNG`, `JPEG`, `WebP`, `AVIF`, … */
	format: string;
	/** Pixels. */
	width: number;
	height: number;
}

/** `name`: how the failure calls the image. The sentence is the product's own, as observed. */
export function measureImage(bytes: Uint8Array, name?: string): ImageSize {
	let size: ImageSize | undefined;
	try {
		size =
			bytes[0] === 0xff && bytes[1] === 0xd8 ? jpegSize(bytes) : headerSize(bytes.subarray(0, HEADER_BYTES));
	} catch (error) {
		throw undecodableImage(name, error);
	}
	if (!size || !(size.width >= 1 && size.height >= 1)) throw undecodableImage(name);
	const megapixels = (size.width * size.height) / 1e6;
	if (megapixels > MAX_MEGAPIXELS)
		throw new AiError(
			"invalidInput",
			`The image has ${Math.round(megapixels)} megapixels; the simulator takes up to ${MAX_MEGAPIXELS}.`,
		);
	return size;
}

function headerSize(header: Uint8Array): ImageSize | undefined {
	for (const [format, reader] of Object.entries(READERS)) {
		if (!reader.validate(header)) continue;
		const { width, height, type } = reader.calculate(header);
		return { format: format === "HEIF" ? (type ?? format).toUpperCase() : format, width, height };
	}
	return undefined;
}

/** Start of frame: baseline, extended, progressive (ITU-T T.81, annex B). */
const FRAMES = new Set([0xc0, 0xc1, 0xc2]);

/** Marker by marker, since a camera's preview and profiles come before the size. */
function jpegSize(bytes: Uint8Array): ImageSize | undefined {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	let offset = 2;
	while (offset + 8 < bytes.length && view.getUint8(offset) === 0xff) {
		const marker = view.getUint8(offset + 1);
		if (FRAMES.has(marker))
			return { format: "JPEG", height: view.getUint16(offset + 5), width: view.getUint16(offset + 7) };
		// Fill bytes have no length.
		offset += marker === 0xff ? 1 : 2 + Math.max(2, view.getUint16(offset + 2));
	}
	return undefined;
}
