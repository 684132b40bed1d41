/** Format and size of an image, by its header. Nothing is decoded. */
import { BMP } from "image-size/types/bmp";
import { GIF } from "image-size/types/gif";
import { HEIF } from "image-size/types/heif";
import { PNG } from "image-size/types/png";
import { WEBP } from "image-size/types/webp";
import { AiError } from "../../../core/errors.ts";
import { undecodableImage } from "../../../core/undecodable-image.ts";
import { imageSizeOf } from "../../../media/image-size.ts";
import { mediaTypeOf } from "../../../media/types.ts";

/** Larger images are refused. */
const MAX_MEGAPIXELS = 50;
/** These formats have the size near the start. A longer search is quadratic for a hostile file. */
const HEADER_BYTES = 64 * 1024;
/** Without SVG: its size is found by regular expressions that a hostile file can stall. */
const READERS = { PNG, GIF, WebP: WEBP, HEIF, BMP } as const;

interface ImageSize {
	/** `PNG`, `JPEG`, `WebP`, `AVIF`, … */
	format: string;
	/** Pixels. */
	width: number;
	height: number;
}

/** `name`: the name of the image in the error message. The message is the product's, as observed. */
export function measureImage(bytes: Uint8Array, name?: string): ImageSize {
	let size: ImageSize | undefined;
	try {
		size =
			mediaTypeOf(bytes) === "image/jpeg" ? jpegSize(bytes) : headerSize(bytes.subarray(0, HEADER_BYTES));
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

function jpegSize(bytes: Uint8Array): ImageSize | undefined {
	const size = imageSizeOf(bytes);
	return size && { format: "JPEG", ...size };
}

function headerSize(header: Uint8Array): ImageSize | undefined {
	for (const [format, reader] of Object.entries(READERS)) {
		if (!reader.validate(header)) continue;
		const { width, height, type } = reader.calculate(header);
		return { format: format === "HEIF" ? (type ?? format).toUpperCase() : format, width, height };
	}
	return undefined;
}
