/**
 * Opens an image: its format and size always, its colours where the format can be decoded here (PNG and JPEG).
 *
 * Nothing is decoded before its size is known. What would cost too much memory or time is measured only, as the
 * formats without a decoder are: a description without colours is better than none. Large photographs are looked at
 * through the preview that their camera put into the file.
 */
import { type DecodedPng, decode as decodePng } from "fast-png";
import { BMP } from "image-size/types/bmp";
import { GIF } from "image-size/types/gif";
import { HEIF } from "image-size/types/heif";
import { WEBP } from "image-size/types/webp";
import { decode as decodeJpeg } from "jpeg-js";
import { AiError } from "../../../errors.ts";
import { undecodableImage } from "../../../tasks/images.ts";
import { type JpegFacts, readJpegFacts } from "./jpeg-scan.ts";
import { inflatesAsPromised, isPng, readPngFacts } from "./png-scan.ts";
import { type PixelReader, reduce, type Thumbnail } from "./thumbnail.ts";

/** Larger images are refused. */
export const MAX_MEGAPIXELS = 50;
/** Decoding takes about twenty times that in bytes, and a Worker has 128 MB. */
const MAX_JPEG_PIXELS = 6_500_000;
/** Decoding takes about three times that: room for a screenshot of four thousand by two. */
const MAX_PNG_BYTES = 36 * 1024 * 1024;
/** A progressive photograph makes about ten passes; a hostile file makes thousands. */
const MAX_PIXEL_PASSES = 80_000_000;
const JPEG_MEMORY_MB = 100;
/** The size stands near the start in these formats; a search further in is quadratic for a hostile file. */
const MEASURED_BYTES = 64 * 1024;
/** SVG is left out on purpose: its size is found by regular expressions that a hostile file can stall. */
const MEASURED = { GIF, WebP: WEBP, HEIF, BMP } as const;

export interface Picture {
	/** `PNG`, `JPEG`, `WebP`, `AVIF`, … */
	format: string;
	/** Pixels. */
	width: number;
	height: number;
	/** Absent where the image was measured only. */
	thumbnail?: Thumbnail;
}

/** `name`: how the failure calls the image. The sentence is the product's own, as observed. */
export async function openPicture(bytes: Uint8Array<ArrayBuffer>, name?: string): Promise<Picture> {
	let picture: Picture | undefined;
	try {
		picture = await open(bytes);
	} catch (error) {
		if (error instanceof AiError) throw error;
		throw undecodableImage(name, error);
	}
	if (!picture) throw undecodableImage(name);
	return picture;
}

async function open(bytes: Uint8Array<ArrayBuffer>): Promise<Picture | undefined> {
	if (isPng(bytes)) return openPng(bytes);
	if (bytes[0] === 0xff && bytes[1] === 0xd8) return openJpeg(bytes);
	const start = bytes.subarray(0, MEASURED_BYTES);
	for (const [format, reader] of Object.entries(MEASURED)) {
		if (!reader.validate(start)) continue;
		const { width, height, type } = reader.calculate(start);
		return sized({ format: format === "HEIF" ? (type ?? format).toUpperCase() : format, width, height });
	}
}

/** The picture, if it has a size that may be worked on. */
function sized(picture: Picture): Picture | undefined {
	const { width, height } = picture;
	if (!Number.isInteger(width) || !Number.isInteger(height) || width < 1 || height < 1) return;
	if (width * height > MAX_MEGAPIXELS * 1e6)
		throw new AiError(
			"invalidInput",
			`The image has ${Math.round((width * height) / 1e6)} megapixels; the simulator takes up to ${MAX_MEGAPIXELS}.`,
		);
	return picture;
}

async function openPng(bytes: Uint8Array<ArrayBuffer>): Promise<Picture | undefined> {
	const facts = readPngFacts(bytes);
	const picture = facts && sized({ format: "PNG", width: facts.width, height: facts.height });
	if (!picture) return;
	const heavy = facts.rawBytes > MAX_PNG_BYTES;
	// The decoder mixes up the pixels of interlaced images with less than a byte a channel.
	if (heavy || (facts.interlaced && facts.depth < 8)) return picture;
	if (!(await inflatesAsPromised(facts))) return;
	const png = decodePng(await new Blob(facts.essential).arrayBuffer());
	return { ...picture, thumbnail: reduce(png.width, png.height, pngReader(png)) };
}

function openJpeg(bytes: Uint8Array<ArrayBuffer>): Picture | undefined {
	const facts = readJpegFacts(bytes);
	const picture = facts && sized({ format: "JPEG", width: facts.width, height: facts.height });
	if (!picture) return;
	if (isLight(facts)) return { ...picture, thumbnail: reduceJpeg(bytes) };
	const { preview } = facts;
	const previewFacts = preview && readJpegFacts(preview);
	if (!previewFacts || !isLight(previewFacts)) return picture;
	return { ...picture, thumbnail: reduceJpeg(preview) };
}

const isLight = ({ width, height, scans }: JpegFacts): boolean =>
	width * height <= MAX_JPEG_PIXELS && width * height * scans <= MAX_PIXEL_PASSES;

function reduceJpeg(bytes: Uint8Array): Thumbnail {
	const { width, height, data } = decodeJpeg(bytes, {
		useTArray: true,
		formatAsRGBA: false,
		maxMemoryUsageInMB: JPEG_MEMORY_MB,
		maxResolutionInMP: MAX_JPEG_PIXELS / 1e6,
	});
	const byte = (offset: number) => data[offset] ?? 0;
	return reduce(width, height, (x, y) => {
		const offset = (y * width + x) * 3;
		return (byte(offset) << 16) | (byte(offset + 1) << 8) | byte(offset + 2);
	});
}

/** Any depth and colour type as 8-bit colour; what is transparent shows white. */
function pngReader({ width, data, depth, channels, palette }: DecodedPng): PixelReader {
	const rowSlots = depth < 8 ? Math.ceil((width * channels * depth) / 8) : width * channels;
	const most = 2 ** Math.min(depth, 8) - 1;
	const sample = (y: number, index: number): number => {
		if (depth === 16) return (data[y * rowSlots + index] ?? 0) >> 8;
		if (depth === 8) return data[y * rowSlots + index] ?? 0;
		const bit = index * depth;
		return ((data[y * rowSlots + (bit >> 3)] ?? 0) >> (8 - depth - (bit & 7))) & most;
	};
	const over = (value: number, alpha: number) => Math.round((value * alpha) / 255 + 255 - alpha);
	const pack = (red: number, green: number, blue: number, alpha: number) =>
		(over(red, alpha) << 16) | (over(green, alpha) << 8) | over(blue, alpha);

	if (palette)
		return (x, y) => {
			const [red = 0, green = 0, blue = 0, alpha = 255] = palette[sample(y, x)] ?? [];
			return pack(red, green, blue, alpha);
		};
	const scale = 255 / most;
	const coloured = channels >= 3;
	const transparent = channels === 2 || channels === 4;
	return (x, y) => {
		const at = (channel: number) => Math.round(sample(y, x * channels + channel) * scale);
		const alpha = transparent ? at(channels - 1) : 255;
		return coloured ? pack(at(0), at(1), at(2), alpha) : pack(at(0), at(0), at(0), alpha);
	};
}
